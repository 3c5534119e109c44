//! Erasing a person (D2): the keys that identify them, the records that name them, and the parts of their tickets that
//! stay.
//!
//! A store removes its data piece by piece; this module decides what names the person.

use serde::{Deserialize, Serialize};

use super::{
    append::ParkedWait,
    change::Change,
    context::Ctx,
    planned::Rejection,
    record_update::{fill, take_stand_ins},
    update::put,
};
use crate::{
    resources::{
        end_user::{EMAIL, END_USER},
        ticket::{self, TICKET},
    },
    schema::{FillCtx, Lookup, index},
    value::{Document, Json, JsonRef, Members, ObjectId, email},
};

/// A person, with all keys that identify them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPerson {
    /// `_id` of the end user.
    pub id: ObjectId,
    /// Keys of the person, each with its field, in the form in which it is compared.
    pub keys: Vec<(String, String)>,
}

impl KnownPerson {
    /// The person that a record of an end user is of.
    pub fn from_record(id: ObjectId, user: &Document) -> Self {
        let claims = index::entries(&END_USER, user).into_iter().filter(|entry| entry.unique);
        Self { id, keys: claims.map(|entry| (entry.row.to_owned(), entry.key)).collect() }
    }

    fn emails(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter().filter(|(row, _)| row == EMAIL.name);
        keys.map(|(_, key)| key.as_str())
    }

    /// Whether a ticket belongs to the person: by its e-mail, or since it names them.
    pub fn is_on_ticket(&self, ticket: &dyn Members) -> bool {
        let address = ticket.get(ticket::EMAIL.name);
        let address = address.and_then(|address| Some(email::folded(&address.as_str()?)));
        if address.is_some_and(|address| self.emails().any(|known| known == address)) {
            return true;
        }
        let named = ticket.get(ticket::END_USERS.name).and_then(|named| named.items());
        let id = self.id.to_string();
        named.unwrap_or_default().iter().any(|one| {
            let one = one.as_ref().to_document();
            one.is_some_and(|one| one.text("id").is_some_and(|named| *named == id))
        })
    }

    /// Index entries that release events that wait for this person.
    pub fn waits(&self) -> Vec<ParkedWait> {
        let wait = |(row, key): &(String, String)| ParkedWait {
            resource: END_USER.code,
            row: row.clone(),
            key: key.clone(),
        };
        self.keys.iter().map(wait).collect()
    }

    /// Whether the JSON of a reply names the person. Malformed JSON may.
    pub fn is_in_response(&self, text: &str) -> bool {
        let (folded, id) = (text.to_lowercase(), self.id.to_string());
        // Most replies have none of these, and need not be parsed.
        let may = folded.contains(&id)
            || self.keys.iter().any(|(_, key)| {
                let written = Json::string(key);
                folded.contains(written.as_ref().text().trim_matches('"').to_lowercase().as_str())
            });
        may && Json::parse(text.as_bytes())
            .map_or(true, |response| self.is_in(response.as_ref(), &id))
    }

    fn is_in(&self, value: JsonRef<'_>, id: &str) -> bool {
        if let Some(text) = value.as_str() {
            let folded = email::folded(&text);
            return self.emails().any(|address| folded.contains(address)) || text.contains(id);
        }
        if let Some(items) = value.items() {
            return items.iter().any(|item| self.is_in(item.as_ref(), id));
        }
        let Some(members) = value.to_document() else { return false };
        members.iter().any(|(name, value)| self.is_key(name, value) || self.is_in(value, id))
    }

    fn is_key(&self, name: &str, value: JsonRef<'_>) -> bool {
        let Some(text) = value.as_str() else { return false };
        self.keys.iter().any(|(row, key)| row == name && *key == *text)
    }
}

/// Plans a ticket without its personal data; nothing changes when it has none.
///
/// # Errors
/// [`Rejection::Lookup`] if the store cannot be read.
pub fn clear_ticket(
    id: ObjectId,
    stored: &Document,
    lookup: &dyn Lookup,
    ctx: &Ctx,
) -> Result<Vec<Change>, Rejection> {
    let mut cleared = stored.clone();
    take_stand_ins(&mut cleared);
    ticket::clear_people(&mut cleared);
    let cleared = fill(&TICKET, cleared, FillCtx::in_utc(ctx.now));
    if cleared == *stored {
        return Ok(Vec::new());
    }
    Ok(vec![put(&TICKET, id, stored.clone(), (cleared, Vec::new()), lookup, ctx)?.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person() -> KnownPerson {
        let user = br#"{"email":"Ada@x.example","externalId":"7","sourceId":"a\"b"}"#;
        let id = ObjectId::parse("0123456789abcdef01234567").unwrap();
        KnownPerson::from_record(id, &Document::parse(user).unwrap())
    }

    #[test]
    fn a_response_names_a_person_by_id_or_key() {
        for naming in [
            r#"{"_id":"0123456789abcdef01234567"}"#,
            r#"{"insertsKeys":[{"externalId":"7"}]}"#,
            r#"{"message":"`email` `ADA@x.example` is taken"}"#,
            r#"{"sourceId":"a\"b"}"#,
            r#"{"externalId":"7""#,
        ] {
            assert!(person().is_in_response(naming), "{naming}");
        }
        for other in [r#"{"externalId":"77"}"#, r#"{"name":"7"}"#, r#"{"sourceId":"7"}"#, "[]"] {
            assert!(!person().is_in_response(other), "{other}");
        }
    }

    #[test]
    fn a_ticket_names_a_person_by_e_mail_or_id() {
        for (ticket, named) in [
            (r#"{"email":"ADA@x.example"}"#, true),
            (r#"{"email":"b@x.example","endusers":[{"id":"0123456789abcdef01234567"}]}"#, true),
            (r#"{"email":"b@x.example","endusers":[{"id":null}]}"#, false),
            ("{}", false),
        ] {
            let ticket = Document::parse(ticket.as_bytes()).unwrap();
            assert_eq!(person().is_on_ticket(&ticket), named, "{}", ticket.to_text());
        }
    }
}
