//! Companies, licenses, tickets and the other resources: one file each with the table of its fields, and one line in
//! [`REGISTRY`].
//!
//! A field is also a typed handle: `company::NAME.get(&document)`. Code that lists, imports or describes resources uses
//! the registry and names no resource. Values are checked in `schema::checked_body` and `schema::sent_value`.

pub mod asset;
pub mod company;
mod company_renewal;
mod company_revenue;
pub(crate) mod company_status;
mod currencies;
pub mod end_user;
mod engagement_fields;
pub mod license;
mod license_from_product;
mod license_invoicing;
mod license_issues;
pub(crate) mod license_line;
pub(crate) mod license_period;
mod license_price;
pub(crate) mod license_renewal_date;
pub(crate) mod license_successor;
pub(crate) mod license_terms;
pub mod product;
pub mod project;
pub mod settings;
pub mod ticket;
mod ticket_derived;
pub mod time_entry;
pub mod timesheet;
pub mod user;

use crate::schema::ResourceDef;
#[cfg(feature = "records")]
use crate::{
    schema::{FieldKind, Filter, Lookup, LookupError, filter::Operand},
    value::RecordRef,
};

/// Every resource, in the order of the API's description.
pub static REGISTRY: &[&ResourceDef] = &[
    &product::PRODUCT,
    &timesheet::TIMESHEET,
    &license::LICENSE,
    &ticket::TICKET,
    &company::COMPANY,
    &end_user::END_USER,
    &asset::ASSET,
    &project::PROJECT,
    &user::USER,
    &time_entry::TIME_ENTRY,
];

/// Resource with this name in the singular.
pub fn by_name(name: &str) -> Option<&'static ResourceDef> {
    REGISTRY.iter().copied().find(|def| def.name == name)
}

/// Resource with this byte in the keys of a store.
pub fn by_code(code: u8) -> Option<&'static ResourceDef> {
    REGISTRY.iter().copied().find(|def| def.code == code)
}

/// Replaces references in filters of a list of `def` by ids; a reference to no record stays, and matches none (R2).
///
/// # Errors
/// If the store cannot be read.
#[cfg(feature = "records")]
pub fn resolve(
    filters: &mut [Filter],
    def: &ResourceDef,
    lookup: &dyn Lookup,
) -> Result<(), LookupError> {
    for filter in filters {
        let target = match filter.field.kind {
            FieldKind::Id => Some(def),
            _ => filter.field.refers.and_then(|refers| by_name(refers.resource)),
        };
        let Some(target) = target else { continue };
        for operand in filter.operands_mut() {
            if let Operand::Text(text) = operand
                && RecordRef::is_prefixed(text)
                && let Some(reference) = RecordRef::parse(text)
                && let Some(id) = lookup.locate(target, &reference)?
            {
                *text = id.to_string();
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{
        plan::{self, Ctx, memory::Memory},
        schema::{CheckedBody, Fill, ReadCtx, checked_body},
        value::{Document, IdSequence, ObjectId, Timestamp},
    };

    #[test]
    fn no_two_resources_share_a_name_a_path_or_a_code() {
        for (index, a) in REGISTRY.iter().enumerate() {
            for b in REGISTRY.iter().skip(index + 1) {
                assert!(a.name != b.name && a.path != b.path && a.code != b.code, "{}", a.name);
            }
        }
    }

    #[test]
    fn every_resource_is_documented_and_found() {
        for def in REGISTRY.iter().copied().chain([&settings::SETTINGS]) {
            assert!(def.code > 0 && def.doc.ends_with('.'), "{}", def.path);
            assert!(!def.name.is_empty(), "{}", def.path);
            assert_eq!(def.not_found, format!("{}_not_found", def.name));
        }
        for def in REGISTRY {
            assert_eq!(by_code(def.code), Some(*def));
            assert_eq!(by_name(def.name), Some(*def));
        }
    }

    #[test]
    fn every_resource_returns_as_many_records_as_in_the_contract() {
        let others = [("companies", 100, 5_000), ("endusers", 100, 10_000), ("users", 100, 10_000)];
        for def in REGISTRY {
            let found = (def.path, def.list.default, def.list.max);
            let expect = match def.path {
                "tickets" => ("tickets", 500, 10_000),
                path => {
                    others.into_iter().find(|other| other.0 == path).unwrap_or((path, 100, 2_000))
                }
            };
            assert_eq!(found, expect);
        }
    }

    fn parse(text: &str) -> Document {
        Document::parse(text.as_bytes()).unwrap()
    }

    /// A store with the company of a first start, and the example of each resource.
    fn with_examples() -> (Memory, Ctx, Vec<(&'static ResourceDef, ObjectId)>) {
        let mut store = Memory::default();
        let mut ctx = Ctx::new(Timestamp::MIN, IdSequence::new([0; 5]), None);
        let mut create = |def: &'static ResourceDef, text: &str| {
            let body = checked_body::check_create(def, &parse(text));
            let planned = plan::create(def, body, &store, &mut ctx).unwrap();
            store.apply(&planned.changes);
            (def, planned.id)
        };
        create(&company::COMPANY, r#"{"name":"Demo","externalId":"demo"}"#);
        let made = REGISTRY.iter().map(|def| create(def, def.example)).collect();
        (store, ctx, made)
    }

    #[test]
    fn every_example_works_as_it_is() {
        let (store, mut ctx, made) = with_examples();
        for (def, id) in made {
            let body = checked_body::check_update(def, &parse(def.example_update));
            let planned = plan::update(def, id, body, &store, &mut ctx).unwrap();
            assert!(!planned.changes.is_empty(), "{}", def.path);
        }
        let update = parse(settings::SETTINGS.example_update);
        assert_eq!(checked_body::check_update(&settings::SETTINGS, &update).issues, []);
    }

    /// Notes the greatest number of records that is read at once.
    struct Counting(Memory, Cell<usize>);

    impl Lookup for Counting {
        fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
            self.0.record(def, id)
        }

        fn holders(
            &self,
            def: &ResourceDef,
            row: &str,
            key: &str,
            limit: usize,
        ) -> Result<Vec<ObjectId>, LookupError> {
            self.1.set(self.1.get().max(limit));
            self.0.holders(def, row, key, limit)
        }
    }

    #[test]
    fn a_resource_that_reads_any_number_of_records_is_marked() {
        let (mut store, mut ctx, made) = with_examples();
        let of_license = made.iter().find(|(def, _)| **def == license::LICENSE).unwrap().1;
        let renewed = parse(r#"{"renewalStatus":"renewed"}"#);
        let renewed = plan::update(
            &license::LICENSE,
            of_license,
            CheckedBody::trusted(renewed),
            &store,
            &mut ctx,
        );
        store.apply(&renewed.unwrap().changes);
        for (def, id) in made {
            let lookup = Counting(store.clone(), Cell::new(0));
            let stored = lookup.record(def, id).unwrap().unwrap();
            plan::to_response(def, &stored, &ReadCtx::new(Timestamp::MIN, &lookup)).unwrap();
            assert_eq!(lookup.1.get() == usize::MAX, def.needs_scan, "{}", def.path);
        }
    }

    #[test]
    fn references_in_filters_are_replaced_by_the_ids_that_they_name() {
        let (store, _, made) = with_examples();
        let id_of = |path: &str| made.iter().find(|(def, _)| def.path == path).unwrap().1;
        let resolved = |def: &ResourceDef, name: &str, value: &str| {
            let mut filters = vec![Filter::parse(def.fields, name, value).unwrap().unwrap()];
            resolve(&mut filters, def, &store).unwrap();
            filters[0].texts().unwrap().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let (company, license) = (id_of("companies").to_string(), id_of("licenses").to_string());
        let by_company = |value: &str| resolved(&license::LICENSE, "companyId", value);
        assert_eq!(by_company("extid-example-company"), [&*company]);
        assert_eq!(by_company(&format!("extid-example-company,{license}")), [&*company, &*license]);
        assert_eq!(by_company("extid-nobody"), ["extid-nobody"]);
        let by_id = |value: &str| resolved(&license::LICENSE, "_id", value);
        assert_eq!(by_id("extid-example-license"), [&*license]);
        let by_product = |value: &str| resolved(&license::LICENSE, "product", value);
        assert_eq!(by_product("extid-example-product"), ["extid-example-product"]);
    }

    #[test]
    fn the_byte_of_a_resource_in_the_keys_of_a_store_is_fixed() {
        let codes =
            REGISTRY.iter().copied().chain([&settings::SETTINGS]).map(|def| (def.path, def.code));
        let expect = [
            ("products", 3),
            ("timesheets", 4),
            ("licenses", 6),
            ("tickets", 10),
            ("companies", 1),
            ("endusers", 2),
            ("assets", 7),
            ("projects", 8),
            ("users", 9),
            ("timeentries", 5),
            ("settings", 11),
        ];
        assert_eq!(codes.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_handle_in_another_file_is_a_row_of_its_resource() {
        for (def, handles) in [
            (&company::COMPANY, company_renewal::HANDLES),
            (&company::COMPANY, company_revenue::HANDLES),
            (&license::LICENSE, license_issues::HANDLES),
            (&license::LICENSE, license_from_product::HANDLES),
            (&license::LICENSE, license_terms::HANDLES),
            (&settings::SETTINGS, currencies::HANDLES),
            (&ticket::TICKET, ticket_derived::HANDLES),
        ] {
            for (name, kind) in handles {
                assert_eq!(
                    def.field(name).map(|field| field.kind),
                    Some(*kind),
                    "{} {name}",
                    def.name
                );
            }
        }
    }

    #[test]
    fn a_field_that_shows_a_name_refers_to_its_record() {
        for def in REGISTRY {
            for field in def.fields {
                let Fill::NameOf(reference) = field.fill else { continue };
                let refers = def.field(reference).and_then(|field| field.refers).unwrap();
                assert!(
                    by_name(refers.resource).unwrap().field("name").is_some(),
                    "{}",
                    field.name
                );
            }
        }
    }

    #[test]
    fn every_row_is_named_once_and_refers_to_a_resource_that_is_there() {
        for def in REGISTRY {
            for (index, field) in def.fields.iter().enumerate() {
                assert!(
                    def.fields.iter().skip(index + 1).all(|other| other.name != field.name),
                    "{}",
                    field.name
                );
                assert!(
                    field.refers.is_none_or(|refers| by_name(refers.resource).is_some()),
                    "{}",
                    field.name
                );
                assert!(field.doc.trim().ends_with('.'), "{}", field.name);
            }
        }
    }

    #[test]
    fn every_resource_has_the_fields_that_the_service_sets() {
        for def in REGISTRY {
            for name in ["_id", "createdAt", "updatedAt", "__v"] {
                let field = def.field(name).unwrap();
                assert!(matches!(field.fill, Fill::Service), "{} {name}", def.name);
            }
        }
    }
}
