//! The main figure of each revenue report in SQL: for MRR as it comes to mind, and for all as fast as we know to write
//! it.
//!
//! Invariant: both come to the same figures, to the cent.

use serde_json::Value;

use crate::postgres::Postgres;

/// Cents of figures by the date or the name of their row.
type Figures = Vec<(String, i64)>;

/// A report in SQL.
pub(crate) struct ReportInSql {
    /// The report, with its parameters.
    pub(crate) report: &'static str,
    pub(crate) baseline: &'static str,
    /// Returns rows of a text and an amount.
    pub(crate) sql: &'static str,
    /// The same of our report.
    figures: fn(&Value) -> Figures,
}

pub(crate) const REPORTS: [ReportInSql; 6] = [
    ReportInSql {
        report: "mrr",
        baseline: "PostgreSQL, each month joined to its licenses",
        sql: "SELECT m.t::date, sum(mrr * rate)
FROM generate_series(timestamp '2016-02-01', '2026-01-01', interval '1 month') m(t)
JOIN licenses ON starts < m.t AND (ends IS NULL OR ends >= m.t)
JOIN rates USING (currency) GROUP BY m.t ORDER BY m.t;",
        figures: |report| converted(report, "to", "end"),
    },
    ReportInSql {
        report: "mrr",
        baseline: "PostgreSQL, a sum of changes, MRR alone",
        sql: SUM_OF_CHANGES,
        figures: |report| converted(report, "to", "end"),
    },
    ReportInSql {
        report: "retention?interval=quarter",
        baseline: "PostgreSQL, companies by quarter, what they retain alone",
        sql: "WITH quarters AS (
  SELECT company, mrr * rate AS mrr, 4 * (extract(year FROM starts)::int - 2016) + extract(quarter FROM starts)::int AS first,
    coalesce(4 * (extract(year FROM ends)::int - 2016) + extract(quarter FROM ends)::int - 1, 40) AS last
  FROM licenses JOIN rates USING (currency)),
sums AS (
  SELECT company, q, sum(mrr) AS mrr FROM quarters, generate_series(first, least(last, 40)) q GROUP BY company, q),
pairs AS (
  SELECT q, mrr, lead(q) OVER w AS next, lead(mrr) OVER w AS retained
  FROM sums WINDOW w AS (PARTITION BY company ORDER BY q))
SELECT (date '2016-01-01' + q * interval '3 months')::date, coalesce(sum(retained) FILTER (WHERE next = q + 1), 0)
FROM pairs WHERE q < 40 GROUP BY q ORDER BY q;",
        figures: |report| {
            let mut rows = converted(report, "from", "retained");
            // Nobody was a customer when the span began.
            rows.remove(0);
            rows
        },
    },
    ReportInSql {
        report: "renewals",
        baseline: "PostgreSQL, the renewed MRR by month alone",
        sql: "WITH due AS (
  SELECT ends, mrr * rate AS mrr, status = 'renewed' AS is_renewed, lead(mrr * rate) OVER w AS next, lead(starts) OVER w AS begins
  FROM licenses JOIN rates USING (currency) WINDOW w AS (PARTITION BY company ORDER BY starts))
SELECT date_trunc('month', ends)::date,
  sum(CASE WHEN begins = ends THEN least(mrr, next) WHEN is_renewed THEN mrr ELSE 0 END)
FROM due WHERE ends >= '2016-01-01' AND ends < '2026-01-01' GROUP BY 1 ORDER BY 1;",
        figures: |report| {
            let rows = converted(report, "from", "renewed").into_iter();
            // Nothing was due in the first months.
            rows.skip_while(|(_, cents)| *cents == 0).collect()
        },
    },
    ReportInSql {
        report: "forecast?assumeRenewed=true",
        baseline: "PostgreSQL, a sum of changes, what is confirmed alone",
        sql: SUM_OF_CHANGES,
        figures: |report| converted(report, "to", "confirmed"),
    },
    ReportInSql {
        report: "customers?sort=-mrr",
        baseline: "PostgreSQL, MRR, next renewal and total alone",
        sql: "SELECT concat_ws(' ', name, renewal::date, 'of', total), mrr FROM (
  SELECT company, sum(mrr * rate) FILTER (WHERE starts <= now() AT TIME ZONE 'UTC'
      AND (ends IS NULL OR ends > now() AT TIME ZONE 'UTC')) AS mrr,
    min(ends) FILTER (WHERE status = 'ongoing') AS renewal, count(*) OVER () AS total
  FROM licenses JOIN rates USING (currency)
  GROUP BY company ORDER BY mrr DESC NULLS LAST, company LIMIT 100) first
JOIN companies ON company = companies.id ORDER BY mrr DESC, company;",
        figures: |report| {
            let total = &report["total"];
            let of = |row: &Value| {
                let renewal = row["nextRenewal"].as_str();
                let name = row["name"].as_str();
                let of = format!("of {total}");
                name.into_iter().chain(renewal).chain([of.as_str()]).collect::<Vec<_>>().join(" ")
            };
            let rows = report["rows"].as_array().unwrap().iter();
            rows.map(|row| (of(row), cents(row["mrr"].as_f64().unwrap()))).collect()
        },
    },
];

const SUM_OF_CHANGES: &str = "SELECT t, total FROM (
  SELECT t::date, sum(sum(change * rate)) OVER (ORDER BY t) AS total FROM (
    SELECT date_trunc('month', starts) + interval '1 month' AS t, currency, sum(mrr) AS change
    FROM licenses GROUP BY 1, 2
    UNION ALL SELECT date_trunc('month', ends) + interval '1 month', currency, -sum(mrr)
    FROM licenses WHERE ends IS NOT NULL GROUP BY 1, 2
  ) changes JOIN rates USING (currency) GROUP BY t
) months WHERE t <= '2026-01-01' ORDER BY t;";

impl ReportInSql {
    /// # Panics
    /// If PostgreSQL comes to other figures than `report`.
    pub(crate) fn assert_same(&self, report: &Value, postgres: &Postgres) {
        let rows = postgres.rows(self.sql);
        let rows = rows.lines().filter_map(|row| row.split_once('|'));
        let theirs = rows.map(|(of, amount)| (of.to_owned(), cents(amount.parse().unwrap())));
        assert_eq!(theirs.collect::<Figures>(), (self.figures)(report), "{}", self.sql);
    }
}

fn converted(report: &Value, of: &str, amount: &str) -> Figures {
    let rows = report["converted"]["rows"].as_array().unwrap().iter();
    rows.map(|row| (row[of].as_str().unwrap().to_owned(), cents(row[amount].as_f64().unwrap())))
        .collect()
}

fn cents(amount: f64) -> i64 {
    (amount * 100.0).round() as i64
}
