//! Who a call of a pipeline is about: the user and the company, from the traits and the context of the call, and from
//! the call itself (R32, R33).

use super::{
    event::{Identity, name},
    reader::{IdentityPlaces, MemberPlace, MemberReader, joined_name, plain_id},
};
use crate::value::Document;

/// The route's own names take precedence (R32, R33).
pub(super) const EXTERNAL_ID: &[&str] = &["userId", "user_id", name::EXTERNAL_ID, "euExtId"];
pub(super) const TRAITS_EXTERNAL_ID: &[&str] =
    &["userId", "user_id", name::EXTERNAL_ID, "euExtId", "id"];
pub(super) const COMPANY: &[&str] = &["companyId", "company_id", name::COMPANY, "cId"];
pub(super) const GROUP: &[&str] = &["groupId", "group_id"];
/// Trait of a user whose `id` is that of the user's company.
pub(super) const COMPANY_TRAIT: &str = "company";
const COMPANY_TRAIT_ID: &str = "id";
/// Traits of a user that an event has. One of these that was not read is a repetition of that of an earlier object,
/// since some SDKs send them twice. Ids are no such traits: another one is another user.
pub(super) const USER_TRAITS: &[&str] =
    &[name::EMAIL, name::NAME, "firstName", "first_name", "lastName", "last_name"];

/// Where the members of an identity are, unless they are found elsewhere.
pub(super) const PLACES: IdentityPlaces = IdentityPlaces {
    external_id: MemberPlace::new("", "userId"),
    email: MemberPlace::new("/traits", name::EMAIL),
    company: MemberPlace::new("/traits", "companyId"),
};

/// Reads the identity: `company` is that of a `group` call.
pub(super) fn read_identity(
    reader: &mut MemberReader<'_>,
    sources: &mut [MemberReader<'_>],
    company: Option<String>,
    places: &mut IdentityPlaces,
) -> Identity {
    let mut either = |member| {
        let own = reader.id(&[member]);
        own.or_else(|| first(sources, |traits| traits.id(&[member])))
    };
    let (asset, project) = (either(name::ASSET), either(name::PROJECT));
    Identity {
        external_id: reader.id_at(EXTERNAL_ID, &mut places.external_id).or_else(|| {
            first(sources, |traits| traits.id_at(TRAITS_EXTERNAL_ID, &mut places.external_id))
        }),
        email: first(sources, |traits| traits.text_at(&[name::EMAIL], &mut places.email)),
        name: first(sources, joined_name),
        company: company
            .or_else(|| first(sources, |traits| traits.id_at(COMPANY, &mut places.company))),
        asset,
        project,
    }
}

/// Adds what a call has itself, outside of its traits, as the calls of other routes have it (R32).
pub(super) fn add_own(
    reader: &mut MemberReader<'_>,
    identity: &mut Identity,
    places: &mut IdentityPlaces,
) {
    let Identity { email, name, company, .. } = identity;
    *email = email.take().or_else(|| reader.text_at(&[name::EMAIL], &mut places.email));
    *name = name.take().or_else(|| joined_name(reader));
    *company = company.take().or_else(|| reader.id_at(COMPANY, &mut places.company));
}

/// Id of the company that is an object among the traits, and the names of its other members, which are not stored. An
/// object with another id than `sent`, or than that of an earlier object, stays unread.
pub(super) fn read_company_trait(
    sources: &mut [MemberReader<'_>],
    sent: Option<&str>,
) -> (Option<String>, Vec<String>) {
    let (mut found, mut unread): (Option<String>, Vec<String>) = (None, Vec::new());
    for traits in sources {
        let Some(company) = traits.object_at(COMPANY_TRAIT) else { continue };
        let Some(id) = plain_id(&company, COMPANY_TRAIT_ID) else { continue };
        if sent.or(found.as_deref()).is_some_and(|used| used != id) {
            continue;
        }
        traits.take(COMPANY_TRAIT);
        let others =
            company.iter().filter(|(name, value)| *name != COMPANY_TRAIT_ID && !value.is_null());
        for (name, _) in others {
            let name = traits.path_of(&format!("{COMPANY_TRAIT}.{name}"));
            if !unread.contains(&name) {
                unread.push(name);
            }
        }
        found = Some(id);
    }
    (found, unread)
}

/// Group of the session, which SDKs add to their calls.
pub(super) fn group_of_context(contexts: [&Document; 2]) -> Option<String> {
    contexts.into_iter().find_map(|context| GROUP.iter().find_map(|name| plain_id(context, name)))
}

/// First value that one of the objects has.
fn first<'a>(
    sources: &mut [MemberReader<'a>],
    read: impl FnMut(&mut MemberReader<'a>) -> Option<String>,
) -> Option<String> {
    sources.iter_mut().find_map(read)
}
