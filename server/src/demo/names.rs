//! Invented names: of companies, places and people. Domains end in `.example`, which is reserved.

use super::random::RandomStream;

const FIRST_HALVES: &[&str] = &[
    "Alder", "Amber", "Anchor", "Arbor", "Aster", "Beacon", "Birch", "Bluefin", "Bramble", "Cedar",
    "Cinder", "Clover", "Copper", "Coral", "Dapple", "Elm", "Ember", "Fathom", "Fennel", "Flint",
    "Gable", "Garnet", "Granite", "Harbor", "Hazel", "Heron", "Indigo", "Ivory", "Juniper",
    "Kestrel", "Lantern", "Larch", "Lichen", "Maple", "Marlin", "Meadow", "Nimbus", "Oaken",
    "Opal", "Osprey", "Pebble", "Pepper", "Quarry", "Quill", "Raven", "Ridge", "Saffron", "Sierra",
    "Sorrel", "Spruce", "Thistle", "Timber", "Umber", "Velvet", "Violet", "Walnut", "Willow",
    "Wren",
];
const SECOND_HALVES: &[&str] = &[
    "Logistics",
    "Foods",
    "Robotics",
    "Health",
    "Studios",
    "Mobility",
    "Energy",
    "Textiles",
    "Insurance",
    "Schools",
    "Travel",
    "Bikes",
    "Optics",
];

/// A city: its country, and the offset of its clocks from UTC, in hours.
pub(super) type City = (&'static str, &'static str, i64);

pub(super) const EUROPE: &[City] = &[
    ("Hamburg", "Germany", 1),
    ("Leipzig", "Germany", 1),
    ("Lyon", "France", 1),
    ("Utrecht", "Netherlands", 1),
    ("Graz", "Austria", 1),
    ("Porto", "Portugal", 0),
    ("Turku", "Finland", 2),
    ("Gdansk", "Poland", 1),
];
pub(super) const AMERICA: &[City] = &[
    ("Portland", "United States", -8),
    ("Austin", "United States", -6),
    ("Boston", "United States", -5),
    ("Toronto", "Canada", -5),
];
pub(super) const ASIA: &[City] =
    &[("Singapore", "Singapore", 8), ("Osaka", "Japan", 9), ("Pune", "India", 5)];

const FIRST_NAMES: &[&str] = &[
    "Adele", "Amir", "Anouk", "Arjun", "Beatriz", "Bela", "Carmen", "Cem", "Dagny", "Dario",
    "Edda", "Emil", "Farah", "Finn", "Greta", "Hiro", "Ines", "Ivo", "Jana", "Jonas", "Kaya",
    "Kenji", "Lea", "Luca", "Mai", "Malik", "Nadia", "Nils", "Olga", "Oskar", "Paula", "Priya",
    "Rafael", "Rosa", "Selma", "Sven", "Tala", "Tom", "Uma", "Vera", "Wanda", "Yuki", "Zoe",
];
const NAME_STEMS: &[&str] = &[
    "Ald", "Berg", "Brand", "Cast", "Dorn", "Eich", "Fal", "Gar", "Hal", "Ister", "Jor", "Kel",
    "Lind", "Mor", "Nor", "Ost", "Pell", "Quist", "Ras", "Sel", "Thor", "Ulm", "Var", "Wend",
    "Yar", "Zell",
];
const NAME_ENDS: &[&str] =
    &["aro", "dahl", "eno", "feld", "ida", "mann", "ova", "rin", "stad", "well", "yama"];
const POSITIONS: &[&str] = &[
    "Analyst",
    "Controller",
    "Data engineer",
    "Head of operations",
    "Marketing manager",
    "Product manager",
    "Sales manager",
    "Support lead",
    "Team lead",
];

/// Name of a company by its number; there are some hundred different ones.
pub(super) fn company(number: usize) -> String {
    let first = FIRST_HALVES.get(number % FIRST_HALVES.len()).copied().unwrap_or_default();
    let round = number / FIRST_HALVES.len();
    let second = (round + number) % SECOND_HALVES.len();
    format!("{first} {}", SECOND_HALVES.get(second).copied().unwrap_or_default())
}

/// Domain of a company by its name.
pub(super) fn domain(company: &str) -> String {
    format!("{}.example", company.to_lowercase().replace(' ', "-"))
}

/// A person: their first and last name.
pub(super) fn person(dice: &mut RandomStream) -> (&'static str, String) {
    let last = [dice.one_of(NAME_STEMS), dice.one_of(NAME_ENDS)].concat();
    (dice.one_of(FIRST_NAMES), last)
}

pub(super) fn position(dice: &mut RandomStream) -> &'static str {
    dice.one_of(POSITIONS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_company_has_a_name_of_its_own() {
        let most = FIRST_HALVES.len() * SECOND_HALVES.len();
        let names: BTreeSet<String> = (0..most).map(company).collect();
        assert_eq!(names.len(), most);
        assert!(most > 700, "{most}");
        assert!(names.iter().all(|name| domain(name).ends_with(".example")));
    }
}
