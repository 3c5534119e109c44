//! The records of the demo: settings, staff, products, companies and licenses.

use chrono::{Datelike as _, Months, NaiveDate};
use serde_json::{Map, Value, json};

use super::{
    customer::{Company, Product, Size, Term, TermOutcome, Usage},
    customer_history::MONTHS,
    names,
    random::RandomStream,
    zone::TIME_ZONE,
};

/// Companies that are not customers: `coming`, whose first license begins soon, and `prospect`.
const COMING: usize = 4;
const PROSPECTS: usize = 12;
/// Least seats of a license whose renewal may have more or fewer.
const GROWING_SEATS: i64 = 10;

/// A person of the staff: key, first and last name, role.
pub(super) type Staff = (&'static str, &'static str, &'static str, &'static str);

/// Staff of customer success first, then support, then those who keep time.
pub(super) const STAFF: [Staff; 11] = [
    ("s-01", "Edda", "Lindrin", "success"),
    ("s-02", "Malik", "Varstad", "success"),
    ("s-03", "Ines", "Castova", "success"),
    ("s-04", "Oskar", "Pellfeld", "success"),
    ("s-05", "Priya", "Norida", "support"),
    ("s-06", "Tom", "Quistwell", "support"),
    ("s-07", "Selma", "Zelldahl", "support"),
    ("s-08", "Dario", "Ostwell", "consulting"),
    ("s-09", "Jana", "Haleno", "consulting"),
    ("s-10", "Kenji", "Moryama", "consulting"),
    ("s-11", "Wanda", "Dornaro", "consulting"),
];

/// The people with a role.
pub(super) fn staff(role: &str) -> impl Iterator<Item = Staff> {
    STAFF.into_iter().filter(move |staff| staff.3 == role)
}

pub(super) fn email((_, first, last, _): Staff) -> String {
    format!("{}.{}@lumen-analytics.example", first.to_lowercase(), last.to_lowercase())
}

/// Base currency, and the value of a dollar by quarter: invented, and near the real one.
pub(super) fn settings(today: NaiveDate) -> Value {
    const DOLLAR: [f64; 10] = [0.94, 0.92, 0.93, 0.9, 0.95, 0.92, 0.88, 0.86, 0.87, 0.86];
    let quarter = today.with_day(1).unwrap_or(today);
    let dated = DOLLAR.iter().rev().zip(0..).filter_map(|(rate, back)| {
        let day = quarter.checked_sub_months(Months::new(3 * back))?;
        Some((day.to_string(), json!(rate)))
    });
    let rates: Map<String, Value> = dated.collect();
    json!({ "timeZone": TIME_ZONE, "currencies": { "base": "EUR", "rates": { "USD": rates } } })
}

pub(super) fn users() -> Vec<Value> {
    let user = |staff: Staff| {
        json!({
            "externalId": staff.0, "firstName": staff.1, "lastName": staff.2, "email": email(staff),
            "teams": [staff.3],
        })
    };
    STAFF.into_iter().map(user).collect()
}

pub(super) fn products() -> Vec<Value> {
    let colors = ["#3355d1", "#18794e", "#c9741a"];
    let product = |(product, color): (Product, &str)| {
        json!({
            "name": product.name(), "externalId": product.name().to_lowercase().replace(' ', "-"),
            "type": "subscription", "mrr": product.price(), "currency": "EUR", "color": color,
            "packages": ["Lumen Analytics"], "custom": { "priceIs": "of a seat and month" },
        })
    };
    Product::ALL.into_iter().zip(colors).map(product).collect()
}

/// All companies: those of the market, and some that have not bought yet.
pub(super) fn companies(market: &[Company], today: NaiveDate) -> Vec<Value> {
    let mut dice = RandomStream::seeded("companies");
    let mut stored: Vec<Value> =
        market.iter().map(|company| stored_company(company, today, &mut dice)).collect();
    stored.extend(others(market).map(|(number, name)| {
        let (city, country, _) = dice.one_of(names::EUROPE);
        let is_coming = number < market.len() + COMING;
        json!({
            "externalId": format!("c-{number:03}"), "domains": [names::domain(&name)], "name": name,
            "city": city, "country": country,
            "phase": if is_coming { "onboarding" } else { "evaluation" },
        })
    }));
    stored
}

/// Number and name of those that have not bought yet; coming ones first.
fn others(market: &[Company]) -> impl Iterator<Item = (usize, String)> {
    let first = market.len();
    (first..first + COMING + PROSPECTS).map(|number| (number, names::company(number)))
}

fn stored_company(company: &Company, today: NaiveDate, dice: &mut RandomStream) -> Value {
    let is_customer = company.is_customer(today);
    let since = company.since().unwrap_or(today);
    let phase = match company.usage {
        _ if !is_customer && company.story.is_none() => "former customer",
        Usage::Falling | Usage::Quiet(_) => "at risk",
        _ if (today - since).num_days() < 60 => "onboarding",
        Usage::Growing => "growing",
        Usage::Steady => "live",
    };
    let score = match company.usage {
        Usage::Growing => dice.between(4, 5),
        Usage::Steady => dice.between(3, 5),
        Usage::Falling | Usage::Quiet(_) => dice.between(1, 3),
    };
    let owner = STAFF.get(company.owner).map(|staff| format!("{} {}", staff.1, staff.2));
    let (city, country, _) = company.place;
    let domain = names::domain(&company.name);
    let mut tags = vec![match company.size {
        Size::Small => "small",
        Size::Middle => "mid-market",
        Size::Large => "enterprise",
    }];
    tags.extend(company.story.map(|_| "story"));
    json!({
        "externalId": company.key(), "name": company.name, "domains": [domain],
        "web": format!("https://{domain}"), "city": city, "country": country, "owner": owner,
        "phase": phase, "csmScore": score, "tags": tags, "description": company.story,
        "createDate": since.to_string(), "custom": { "industry": company.name.split(' ').next_back() },
    })
}

/// Licenses of the market, each after its predecessor, and those of coming companies.
pub(super) fn licenses(market: &[Company], today: NaiveDate) -> Vec<Value> {
    let of_company = |company: &Company| {
        let terms = company.terms.iter().enumerate();
        terms.map(|(at, term)| stored_license(company, at, term)).collect::<Vec<_>>()
    };
    let mut stored: Vec<Value> = market.iter().flat_map(of_company).collect();
    let next = today.with_day(1).and_then(|day| day.checked_add_months(Months::new(1)));
    for (number, _) in others(market).take(COMING) {
        let from = next.unwrap_or(today);
        let term = Term::new(Product::Team, from, 12, 6);
        stored.push(json!({
            "externalId": format!("l-{number:03}-1"), "companyId": format!("extid-c-{number:03}"),
            "product": term.product.name(), "_currency": "EUR", "fromDate": from.to_string(),
            "toDate": term.to.map(|to| to.to_string()), "fixedPeriod": true, "mrr": term.mrr(),
        }));
    }
    stored
}

fn stored_license(company: &Company, at: usize, term: &Term) -> Value {
    let (status, reason) = match term.outcome {
        TermOutcome::Ongoing => ("ongoing", None),
        TermOutcome::Renewed => ("renewed", None),
        TermOutcome::Lost(reason) => ("lost", Some(reason)),
    };
    let mut license = json!({
        "externalId": company.license_key(at), "companyId": format!("extid-{}", company.key()),
        "product": term.product.name(), "_currency": company.currency,
        "fromDate": term.from.to_string(), "fixedPeriod": term.months > 0, "mrr": term.mrr(),
        "renewalStatus": status, "salesDate": term.from.to_string(),
        "custom": { "seats": term.seats, "discount": term.discount },
    });
    let Some(fields) = license.as_object_mut() else { return license };
    let mut set = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("toDate", term.to.map(|to| json!(to.to_string())));
    set("lostReason", reason.map(|reason| json!(reason)));
    set("parent", term.follows.map(|at| json!(format!("extid-{}", company.license_key(at)))));
    if term.outcome == TermOutcome::Ongoing && term.months > 0 && term.seats >= GROWING_SEATS {
        let with_seats = |seats| Some(json!(Term { seats, ..term.clone() }.mrr()));
        set("fcNewMrr", with_seats(term.seats));
        set("fcNewMrrOptimistic", with_seats(term.seats * 5 / 4));
        set("fcNewMrrPessimistic", with_seats(term.seats * 4 / 5));
    }
    if term.auto_renews {
        set("autoRenews", Some(json!(true)));
        set("noticePeriod", Some(json!(1)));
        set("noticeUnit", Some(json!("month")));
    }
    license
}

/// Months that have ended, the earliest first: those that finance has closed.
pub(super) fn closings(today: NaiveDate) -> Vec<Value> {
    let this = today.with_day(1).unwrap_or(today);
    let month = |back: u32| {
        let month = this.checked_sub_months(Months::new(back))?;
        Some(json!({ "month": format!("{}-{:02}", month.year(), month.month()) }))
    };
    // The last month is still open.
    (2..=MONTHS / 4).rev().filter_map(month).collect()
}
