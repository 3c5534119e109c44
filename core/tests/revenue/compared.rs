//! Every figure of every report over random histories, against the model.
//!
//! `SVCTRACK_REVENUE_HISTORIES` sets the number of histories, `SVCTRACK_REVENUE_SEED` the first of them.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use svctrack_core::{
    revenue::{
        self, CohortCell, Day, ExchangeRates, ForecastRow, Interval, Ledger, LicenseFacts,
        MovementRow, MovementView, RenewalOutcome, RenewalRow, RenewalStatus, RenewalsBy,
        ReportOptions, RetentionRow, Unit, Valuation,
    },
    value::{Number, ObjectId, Timestamp, Zone},
};

use super::{
    calendar::{self, DAY},
    fraction::Fraction,
    model::{self, Asked, License, Model, Status, Sum, ZERO, positive},
    random::Random,
};

const HISTORIES: u64 = 60;
const CURRENCIES: [&str; 3] = ["EUR", "JPY", "USD"];

fn id(number: u8) -> ObjectId {
    let mut bytes = [0; 12];
    bytes[11] = number;
    ObjectId::from_bytes(bytes)
}

fn decimal(fraction: Fraction) -> Decimal {
    fraction.text().parse().unwrap()
}

fn facts(license: &License) -> LicenseFacts<'static> {
    LicenseFacts {
        product: license.product.into(),
        currency: license.currency.into(),
        from: Timestamp::from_ms(license.from),
        end: license.end.and_then(Timestamp::from_ms),
        mrr: (!license.is_trial).then(|| decimal(license.mrr)),
        fixed: license.fixed,
        auto_renews: license.auto_renews,
        status: match license.status {
            Status::Ongoing => RenewalStatus::Ongoing,
            Status::Renewed => RenewalStatus::Renewed,
            Status::Lost => RenewalStatus::Lost,
        },
        notice: license.notice_days.map(|days| (u32::try_from(days).unwrap(), Unit::Day)),
        renewal_mrr: license.renewal.map(decimal),
        forecast: license.forecasts[0].map(decimal),
        optimistic: license.forecasts[1].map(decimal),
        pessimistic: license.forecasts[2].map(decimal),
        parent: license.parent.map(id),
        ..LicenseFacts::new(id(license.id), id(license.company))
    }
}

/// Ledger of licenses, of any zone; for every other history one that had others before.
pub fn ledger_of(seed: u64, licenses: &[License]) -> Ledger {
    let zone = ["UTC", "Asia/Tokyo", "America/New_York"][usize::try_from(seed % 3).unwrap()];
    let zone = Zone::parse(zone).unwrap();
    if seed.is_multiple_of(2) {
        return Ledger::in_zone(zone, licenses.iter().map(facts)).unwrap();
    }
    let another = |license: &License| LicenseFacts {
        currency: "AAA".into(),
        product: "Another".into(),
        mrr: license.id.is_multiple_of(2).then_some(7.into()),
        ..LicenseFacts { company: id(200), ..facts(license) }
    };
    let before = licenses.iter().filter(|license| !license.id.is_multiple_of(3)).map(|license| {
        if license.id.is_multiple_of(4) { another(license) } else { facts(license) }
    });
    let gone =
        licenses.iter().take(1).map(|license| LicenseFacts { id: id(255), ..another(license) });
    let later = licenses
        .iter()
        .filter(|license| license.id.is_multiple_of(3) || license.id.is_multiple_of(4));
    let mut changes: BTreeMap<ObjectId, Option<LicenseFacts<'_>>> =
        later.map(|license| (id(license.id), Some(facts(license)))).collect();
    changes.insert(id(255), None);
    Ledger::in_zone(zone, before.chain(gone)).unwrap().changed(changes).unwrap()
}

fn day(day: i64) -> Day {
    Day::parse(&calendar::text(day * DAY)[..10]).unwrap()
}

pub fn options(asked: &Asked) -> ReportOptions {
    let mut rates = ExchangeRates::new("EUR");
    for (currency, from, rate) in &asked.rates {
        rates.set(*currency, day(*from), decimal(*rate)).unwrap();
    }
    ReportOptions {
        from: day(asked.from),
        to: day(asked.to),
        interval: Interval::parse(asked.interval).unwrap(),
        zone: Zone::parse(asked.zone.name()).unwrap(),
        now: Timestamp::from_ms(asked.now).unwrap(),
        gap_days: asked.gap_days.try_into().unwrap(),
        reactivation_within: asked.within.map(|days| days.try_into().unwrap()),
        view: if asked.activities { MovementView::Activities } else { MovementView::EndPoints },
        company: asked.company.map(id),
        product: asked.product.map(ToOwned::to_owned),
        rates: Some(rates),
        valuation: if asked.dated { Valuation::Dated } else { Valuation::Constant },
        rate_date: None,
        assume_renewed: asked.assume_renewed,
        history: None,
    }
}

fn text(number: Number) -> String {
    number.to_string()
}

fn ratio(part: Fraction, whole: Fraction) -> String {
    if whole > ZERO { (part / whole).rounded(10).text() } else { "null".into() }
}

fn option(number: Option<Number>) -> String {
    number.map_or("null".into(), text)
}

#[test]
fn reports_match_a_slow_and_obvious_model() {
    let from_env = |name: &str, default: u64| {
        std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
    };
    let first = from_env("SVCTRACK_REVENUE_SEED", 1);
    for seed in first..first + from_env("SVCTRACK_REVENUE_HISTORIES", HISTORIES) {
        let mut random = Random::new(seed);
        let asked = random.asked();
        let all = random.licenses(asked.zone);
        let ledger = ledger_of(seed, &all);
        let (trials, licenses): (Vec<_>, Vec<_>) =
            all.into_iter().map(|license| license.placed(asked.zone)).partition(|one| one.is_trial);
        let model = Model::new(&licenses, &trials, &asked);
        let told = std::panic::catch_unwind(|| {
            movements(&model, &ledger);
            retention(&model, &ledger);
            cohorts(&model, &ledger);
            renewals(&model, &ledger);
            forecast(&model, &ledger);
        });
        assert!(told.is_ok(), "seed {seed}: {asked:?}\n{licenses:#?}\n{trials:#?}");
    }
}

/// Sum of a series of a report at the rates of an interval.
fn sums(model: &Model<'_>, currency: Option<&'static str>, end: i64) -> Sum {
    currency.map_or_else(|| Sum::Converted(model.rate_day(end)), Sum::In)
}

fn segment_of(company: u8) -> Option<String> {
    ["even", "odd"].get(usize::from(company % 3)).map(|name| (*name).to_owned())
}

fn movements(model: &Model<'_>, ledger: &Ledger) {
    let segment = |company: ObjectId| segment_of(company.as_bytes()[11]);
    let report = revenue::mrr(ledger, &options(model.asked), Some(&segment)).unwrap();
    let all = model.companies();
    let with = |currency: &str, companies: &[u8]| {
        model
            .licenses
            .iter()
            .any(|license| license.currency == currency && companies.contains(&license.company))
    };
    let check = |series: &[revenue::Series<MovementRow>],
                 converted: &revenue::Series<MovementRow>,
                 companies: &[u8]| {
        let found: Vec<&str> = series.iter().map(|series| &*series.currency).collect();
        let known = CURRENCIES.into_iter().filter(|currency| with(currency, companies));
        assert_eq!(found, known.collect::<Vec<_>>());
        for series in series {
            let currency = CURRENCIES.into_iter().find(|known| *known == series.currency);
            compare_movements(model, &series.rows, currency, companies);
        }
        compare_movements(model, &converted.rows, None, companies);
    };
    check(&report.currencies, report.converted.as_ref().unwrap(), &all);
    let mut seen = 0;
    for segment in report.segments.as_ref().unwrap() {
        let companies: Vec<u8> =
            all.iter().copied().filter(|company| segment_of(*company) == segment.segment).collect();
        assert_eq!(segment.companies, companies.len());
        seen += companies.len();
        check(&segment.currencies, segment.converted.as_ref().unwrap(), &companies);
    }
    assert_eq!(seen, all.len());
    let overdue: Vec<ObjectId> = report.overdue.iter().map(|overdue| overdue.license).collect();
    let expected = all.iter().flat_map(|company| model.overdue(*company, i64::MAX));
    let mut expected: Vec<ObjectId> = expected.map(|license| id(license.id)).collect();
    let mut found = overdue;
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

fn compare_movements(
    model: &Model<'_>,
    rows: &[MovementRow],
    currency: Option<&'static str>,
    companies: &[u8],
) {
    assert_eq!(rows.len(), model.intervals().len());
    for (row, (from, to)) in rows.iter().zip(model.intervals()) {
        let sum = sums(model, currency, to);
        let before = sums(model, currency, from);
        let (start, end) = (model.begin(from), model.begin(to));
        let mut total = [ZERO; 8];
        let mut counts = [0; 3];
        let (mut at_start, mut revalued, mut at_end, mut overdue) = (ZERO, ZERO, ZERO, ZERO);
        let (mut customers, mut overdue_count) = (0, 0);
        for company in companies {
            let lines = if model.asked.activities {
                model.activities(*company, sum, start, end)
            } else {
                model.end_points(*company, sum, start, end)
            };
            (0..8).for_each(|at| total[at] = total[at] + lines.amounts[at]);
            (0..3).for_each(|at| counts[at] += lines.counts[at]);
            at_start = at_start + model.before(*company, before, start);
            revalued = revalued + model.before(*company, sum, start);
            let pays = model.before(*company, sum, end);
            at_end = at_end + pays;
            customers += i64::from(pays > ZERO);
            let (amount, licenses) = overdue_at(model, *company, end, sum);
            overdue = overdue + amount;
            overdue_count += licenses;
        }
        let fx = revalued - at_start;
        let [new, reactivation, expansion, contraction, churn, negative, ..] = total;
        let moves = [new, reactivation, expansion, contraction, churn, negative];
        let expected = [vec![at_start], moves.to_vec(), vec![at_end]].concat();
        let expected: Vec<_> = expected.into_iter().map(Fraction::text).collect();
        let about = format!("{currency:?} {companies:?} {:?}", row.period);
        assert_eq!(row.amounts().map(text).to_vec(), expected, "{about}");
        assert_eq!(
            [option(row.arpa), option(row.asp), text(row.overdue)],
            [mean(at_end, customers), mean(new, counts[0]), overdue.text()],
            "{about}"
        );
        assert_eq!(row.fx.map(text), (currency.is_none() && model.asked.dated).then(|| fx.text()));
        let of_product = |amount: Fraction| model.asked.product.map(|_| amount.text());
        assert_eq!(
            [row.entering.map(text), row.leaving.map(text)],
            [total[6], total[7]].map(of_product)
        );
        let found = [
            row.new_customers,
            row.reactivated_customers,
            row.churned_customers,
            row.customers,
            row.overdue_licenses,
        ];
        assert_eq!(found, [counts[0], counts[1], counts[2], customers, overdue_count]);
        let end = at_start + fx + total[0] + total[1] + total[2] + total[5] + total[6];
        assert_eq!(end - total[3] - total[4] - total[7], at_end, "the invariant");
    }
}

/// A share of an amount, or null for a share of 0.
fn mean(amount: Fraction, of: i64) -> String {
    match of {
        0 => "null".to_owned(),
        _ => (amount / Fraction::whole(of.into())).rounded(6).text(),
    }
}

/// Overdue amount of a company, and its number of licenses.
fn overdue_at(model: &Model<'_>, company: u8, end: i64, sum: Sum) -> (Fraction, i64) {
    let (mut overdue, mut licenses) = (ZERO, 0);
    for license in model.overdue(company, end) {
        let rate = match sum {
            Sum::In(currency) if currency != license.currency => continue,
            Sum::In(_) => Fraction::whole(1),
            Sum::Converted(day) => model.rate(license.currency, day),
        };
        overdue = overdue + license.mrr * rate;
        licenses += 1;
    }
    (overdue, licenses)
}

fn retention(model: &Model<'_>, ledger: &Ledger) {
    let report = revenue::retention(ledger, &options(model.asked)).unwrap();
    let converted = report.converted.iter().map(|series| (None, series));
    let own = report
        .currencies
        .iter()
        .map(|series| (CURRENCIES.into_iter().find(|known| *known == series.currency), series));
    for (currency, series) in own.chain(converted) {
        let intervals = model.intervals();
        for (row, (from, to)) in series.rows.iter().zip(&intervals) {
            compare_retention(model, row, currency, (*from, *to), model.asked.activities);
        }
        for (row, (_, to)) in series.trailing_year.iter().zip(&intervals) {
            let year = (model::a_year_before(*to), *to);
            compare_retention(model, row, currency, year, model.asked.activities);
        }
        let span = (model.asked.from, model.asked.to);
        compare_retention(model, &series.span, currency, span, model.asked.activities);
    }
}

fn compare_retention(
    model: &Model<'_>,
    row: &RetentionRow,
    currency: Option<&'static str>,
    (from, to): (i64, i64),
    activities: bool,
) {
    let sum = sums(model, currency, to);
    let (start, end) = (model.begin(from), model.begin(to));
    let (mut base, mut kept, mut retained, mut moves) = (ZERO, ZERO, ZERO, [ZERO; 8]);
    let (mut customers, mut lost) = (0, 0);
    for company in model.companies() {
        let a = positive(model.before(company, sum, start));
        let b = positive(model.before(company, sum, end));
        if a > ZERO {
            base = base + a;
            kept = kept + if a < b { a } else { b };
            retained = retained + b;
            customers += 1;
            lost += i64::from(b == ZERO);
        }
        let lines = if activities {
            model.activities(company, sum, start, end)
        } else {
            model.end_points(company, sum, start, end)
        };
        (0..8).for_each(|at| moves[at] = moves[at] + lines.amounts[at]);
    }
    let [new, reactivation, expansion, contraction, churn, ..] = moves;
    let whole = |count: i64| Fraction::whole(count.into());
    let gone = churn + contraction;
    let expected = [
        base.text(),
        kept.text(),
        retained.text(),
        ratio(kept, base),
        ratio(retained, base),
        ratio(gone, base),
        ratio(gone - expansion - reactivation, base),
        ratio(whole(lost), whole(customers)),
        ratio(new + reactivation + expansion, gone),
    ];
    let found = [
        text(row.base),
        text(row.kept),
        text(row.retained),
        option(row.grr),
        option(row.nrr),
        option(row.gross_mrr_churn),
        option(row.net_mrr_churn),
        option(row.logo_churn),
        option(row.quick_ratio),
    ];
    assert_eq!(found, expected, "{currency:?} {:?}", row.period);
    assert_eq!((row.customers, row.lost_customers), (customers, lost));
}

fn cohorts(model: &Model<'_>, ledger: &Ledger) {
    if ["day", "week"].contains(&model.asked.interval) {
        return;
    }
    let report = revenue::cohorts(ledger, &options(model.asked)).unwrap();
    let converted = report.converted.iter().map(|series| (None, series));
    let own = report
        .currencies
        .iter()
        .map(|series| (CURRENCIES.into_iter().find(|known| *known == series.currency), series));
    for (currency, series) in own.chain(converted) {
        for cohort in &series.rows {
            let first = |company: &u8| {
                model
                    .first_paid(*company)
                    .map(|time| day(model::first_of(model.asked.interval, model.day(time))))
            };
            let companies: Vec<u8> = model
                .companies()
                .into_iter()
                .filter(|company| first(company) == Some(cohort.from))
                .collect();
            let mut shown: Option<(Fraction, i64)> = None;
            for (cell, (_, to)) in cohort.cells.iter().zip(model.intervals()) {
                assert_eq!(cell.is_none(), day(to) <= cohort.from);
                let Some(cell) = cell else { continue };
                let sum = sums(model, currency, to);
                let pays =
                    companies.iter().map(|company| model.before(*company, sum, model.begin(to)));
                let pays: Vec<Fraction> = pays.collect();
                let mrr = pays.iter().fold(ZERO, |sum, paid| sum + *paid);
                let logos = pays.iter().filter(|paid| **paid > ZERO).count().try_into().unwrap();
                let first = *shown.get_or_insert((mrr, logos));
                compare_cell(cell, (mrr, logos), first);
            }
        }
    }
}

fn compare_cell(cell: &CohortCell, (mrr, logos): (Fraction, i64), first: (Fraction, i64)) {
    let whole = |count: i64| Fraction::whole(count.into());
    let found = [text(cell.mrr), option(cell.share), option(cell.logo_share)];
    let shares = [ratio(mrr, first.0), ratio(whole(logos), whole(first.1))];
    assert_eq!(found, [mrr.text(), shares[0].clone(), shares[1].clone()]);
    assert_eq!(cell.logos, logos);
}

/// Outcome of a license, and the amount after it.
fn outcome(model: &Model<'_>, at: usize) -> (RenewalOutcome, Fraction) {
    let license = &model.licenses[at];
    match (model.successors[at], license.status) {
        (Some(next), _) => (RenewalOutcome::Renewed, positive(model.licenses[next].mrr)),
        (None, Status::Lost) => (RenewalOutcome::Churned, ZERO),
        (None, Status::Renewed) => {
            (RenewalOutcome::Renewed, positive(license.renewal.unwrap_or(license.mrr)))
        }
        (None, Status::Ongoing) if license.end.unwrap() <= model.asked.now => {
            (RenewalOutcome::Overdue, ZERO)
        }
        (None, Status::Ongoing) => (RenewalOutcome::Open, ZERO),
    }
}

fn renewals(model: &Model<'_>, ledger: &Ledger) {
    let by = if model.asked.by_notice { RenewalsBy::Notice } else { RenewalsBy::End };
    let report = revenue::renewals(ledger, &options(model.asked), by, None).unwrap();
    let converted = report.converted.iter().map(|series| (None, series));
    let own = report
        .currencies
        .iter()
        .map(|series| (CURRENCIES.into_iter().find(|known| *known == series.currency), series));
    let belongs = |license: &License, from: i64, to: i64| {
        let Some(end) = license.end else { return false };
        let of_day = if !model.asked.by_notice {
            model.day(end)
        } else if license.auto_renews {
            model.day(end) - license.notice_days.unwrap_or(0)
        } else {
            return false;
        };
        license.fixed
            && license.mrr >= ZERO
            && model.counts(license)
            && from <= of_day
            && of_day < to
    };
    let all = model.companies();
    for (currency, series) in own.chain(converted) {
        for (row, (from, to)) in series.rows.iter().zip(model.intervals()) {
            let ending = (0..model.licenses.len()).filter(|at| {
                let license = &model.licenses[*at];
                all.contains(&license.company)
                    && currency.is_none_or(|currency| currency == license.currency)
                    && belongs(license, from, to)
            });
            let sum = (sums(model, currency, to), to);
            compare_renewals(model, row, sum, &ending.collect::<Vec<_>>());
        }
    }
    let listed = model.licenses.iter().filter(|license| {
        all.contains(&license.company) && belongs(license, model.asked.from, model.asked.to)
    });
    assert_eq!(report.licenses.len(), listed.count());
    for line in report.licenses.iter() {
        let at = model.licenses.iter().position(|license| id(license.id) == line.license).unwrap();
        assert_eq!(line.outcome, outcome(model, at).0);
        assert_eq!(line.successor, model.successors[at].map(|next| id(model.licenses[next].id)));
    }
}

fn compare_renewals(model: &Model<'_>, row: &RenewalRow, (sum, to): (Sum, i64), ending: &[usize]) {
    // Base, renewed, upgrade, downgrade, churned, overdue, open.
    let mut sums = [ZERO; 7];
    let mut companies = std::collections::BTreeMap::new();
    for at in ending {
        let license = &model.licenses[*at];
        let rate = match sum {
            Sum::In(_) => Fraction::whole(1),
            Sum::Converted(day) => model.rate(license.currency, day),
        };
        let (what, renewed) = outcome(model, *at);
        let next = model.successors[*at].map(|next| model.licenses[next].currency);
        let next = next.unwrap_or(license.currency);
        let renewed = match sum {
            Sum::In(currency) if currency != next => {
                let day = model.rate_day(to);
                let rate = model.rate(next, day) / model.rate(currency, day);
                (renewed * rate).rounded(6)
            }
            Sum::In(_) => renewed,
            Sum::Converted(day) => renewed * model.rate(next, day),
        };
        let mrr = license.mrr * rate;
        sums[0] = sums[0] + mrr;
        let place = match what {
            RenewalOutcome::Renewed => 1,
            RenewalOutcome::Churned => 4,
            RenewalOutcome::Overdue => 5,
            RenewalOutcome::Open => 6,
        };
        if what == RenewalOutcome::Renewed {
            sums[1] = sums[1] + if renewed < mrr { renewed } else { mrr };
            sums[2] = sums[2] + positive(renewed - mrr);
            sums[3] = sums[3] + positive(mrr - renewed);
        } else {
            sums[place] = sums[place] + mrr;
        }
        companies.entry(license.company).or_insert_with(Vec::new).push(what);
    }
    let found =
        [row.base, row.renewed, row.upgrade, row.downgrade, row.churned, row.overdue, row.open];
    assert_eq!(found.map(text), sums.map(Fraction::text), "{:?}", row.period);
    let count = |is: &dyn Fn(&Vec<RenewalOutcome>) -> bool| {
        let count = companies.values().filter(|whats| is(whats)).count();
        Fraction::whole(count.try_into().unwrap())
    };
    let renewed = count(&|whats| whats.contains(&RenewalOutcome::Renewed));
    let decided = count(&|whats| {
        whats.contains(&RenewalOutcome::Renewed)
            || whats.iter().all(|what| *what == RenewalOutcome::Churned)
    });
    let rates = |base: Fraction, logos: Fraction| {
        [ratio(sums[1], base), ratio(sums[1] + sums[2], base), ratio(renewed, logos)]
    };
    let texts = |rates: revenue::RenewalRates| [rates.gross, rates.net, rates.logo].map(option);
    assert_eq!(texts(row.of_base), rates(sums[0], count(&|_| true)));
    assert_eq!(texts(row.of_decided), rates(sums[0] - sums[5] - sums[6], decided));
}

fn forecast(model: &Model<'_>, ledger: &Ledger) {
    let report = revenue::forecast(ledger, &options(model.asked), None).unwrap();
    let converted = report.converted.iter().map(|series| (None, series));
    let own = report
        .currencies
        .iter()
        .map(|series| (CURRENCIES.into_iter().find(|known| *known == series.currency), series));
    for (currency, series) in own.chain(converted) {
        for (row, (_, to)) in series.rows.iter().zip(model.intervals()) {
            compare_forecast(model, row, sums(model, currency, to), model.begin(to));
        }
    }
}

fn compare_forecast(model: &Model<'_>, row: &ForecastRow, sum: Sum, time: i64) {
    let all = model.companies();
    let signed = all.iter().fold(ZERO, |total, company| total + model.before(*company, sum, time));
    let mut expected = [ZERO; 3];
    for (at, license) in model.licenses.iter().enumerate() {
        let rate = match sum {
            Sum::In(currency) if currency != license.currency => continue,
            Sum::In(_) => Fraction::whole(1),
            Sum::Converted(day) => model.rate(license.currency, day),
        };
        let renews = license.auto_renews || model.asked.assume_renewed;
        let is_over = license.end.is_some_and(|end| end < time);
        let undecided = license.status == Status::Ongoing && model.successors[at].is_none();
        let counts = model.counts(license) && all.contains(&license.company);
        if !(license.fixed && renews && is_over && undecided && counts) {
            continue;
        }
        let base = license.forecasts[0].or(license.renewal).unwrap_or(license.mrr);
        let otherwise = if license.auto_renews { base } else { ZERO };
        let scenarios =
            [base, license.forecasts[1].unwrap_or(base), license.forecasts[2].unwrap_or(otherwise)];
        (0..3).for_each(|at| expected[at] = expected[at] + scenarios[at] * rate);
    }
    let texts = |scenarios: revenue::Scenarios| {
        [scenarios.base, scenarios.optimistic, scenarios.pessimistic].map(text)
    };
    assert_eq!(text(row.confirmed), signed.text(), "{:?}", row.period);
    assert_eq!(texts(row.unconfirmed), expected.map(Fraction::text));
    assert_eq!(texts(row.total), expected.map(|amount| (signed + amount).text()));
}
