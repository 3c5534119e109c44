//! The resources, one file each, and the registry: one line each.

pub mod asset;
pub mod company;
mod company_renewal;
pub mod end_user;
mod engagement;
pub mod license;
mod license_issues;
mod license_terms;
pub mod product;
pub mod project;
pub mod settings;
pub mod ticket;
mod ticket_terms;
pub mod time_entry;
pub mod timesheet;
pub mod user;

use crate::{
    schema::{Filter, Kind, Lookup, LookupError, ResourceDef, filter::Operand},
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

/// The resource called `name` in the singular.
pub fn by_name(name: &str) -> Option<&'static ResourceDef> {
    REGISTRY.iter().copied().find(|def| def.name == name)
}

/// The resource with this byte in the keys of a store.
pub fn by_code(code: u8) -> Option<&'static ResourceDef> {
    REGISTRY.iter().copied().find(|def| def.code == code)
}

/// Replaces references in filters of a list of `def` by ids; one that names nothing stays, and is that of no record
/// (R2).
///
/// # Errors
/// When the store cannot say.
pub fn resolve(
    filters: &mut [Filter],
    def: &ResourceDef,
    lookup: &dyn Lookup,
) -> Result<(), LookupError> {
    for filter in filters {
        let target = match filter.row.kind {
            Kind::Id => Some(def),
            _ => filter.row.refers.and_then(|refers| by_name(refers.resource)),
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
    use super::*;
    use crate::schema::Fill;

    #[test]
    fn no_two_resources_share_a_name_a_path_or_a_code() {
        for (index, a) in REGISTRY.iter().enumerate() {
            for b in REGISTRY.iter().skip(index + 1) {
                assert!(a.name != b.name && a.path != b.path && a.code != b.code, "{}", a.name);
            }
        }
    }

    #[test]
    fn every_resource_says_what_it_is() {
        for def in REGISTRY {
            assert!(def.code > 0 && def.doc.ends_with('.'), "{}", def.path);
            assert_eq!(def.not_found, format!("{}_not_found", def.name));
            assert_eq!(by_code(def.code), Some(*def));
            assert_eq!(by_name(def.name), Some(*def));
        }
    }

    #[test]
    fn a_resource_keeps_its_byte_in_the_keys_of_a_store() {
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
    fn every_row_is_named_once_and_refers_to_a_resource_that_is_there() {
        for def in REGISTRY {
            for (index, row) in def.rows.iter().enumerate() {
                assert!(
                    def.rows.iter().skip(index + 1).all(|other| other.name != row.name),
                    "{}",
                    row.name
                );
                assert!(
                    row.refers.is_none_or(|refers| by_name(refers.resource).is_some()),
                    "{}",
                    row.name
                );
                assert!(row.doc.trim().ends_with('.'), "{}", row.name);
            }
        }
    }

    #[test]
    fn every_resource_has_what_the_service_keeps_of_a_record() {
        for def in REGISTRY {
            for name in ["_id", "createdAt", "updatedAt", "__v"] {
                let row = def.row(name).unwrap();
                assert!(matches!(row.fill, Fill::Service), "{} {name}", def.name);
            }
        }
    }
}
