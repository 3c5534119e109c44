//! Measures how long it takes to tally the activities of a year, as many at a time as a store does, and to report them:
//! 10,000 users of 500 companies, 40 actions. The number of activities can be given:
//!
//! ```text
//! cargo run --release -p svctrack-core --example usage_speed -- 5000000
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program of its own, unlike the rules"
)]

use std::{env, error::Error, time::Instant};

use svctrack_core::{
    revenue::{ReportKind, ReportQuery, UsageDays},
    usage::{CountedActivity, MalformedBlock, UsageTally},
    value::{ObjectId, Timestamp, Zone, time::DAY_MS},
};

const USERS: u64 = 10_000;
const COMPANIES: u64 = 500;
const ACTIONS: u64 = 40;
/// Activities that are tallied at a time, and number of tallies that are joined.
const TALLIED: usize = 8_192;
const JOINED: usize = 8;
const ROUNDS: u32 = 5;

type Run = Vec<(ObjectId, Vec<u8>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let given = env::args().nth(1).map(|count| count.parse()).transpose()?;
    let count: usize = given.unwrap_or(5_000_000);
    let end = Timestamp::parse("2026-11-20").ok_or("no time")?;
    let mut activities = Activities { seed: 1, number: 0, count, end };
    let mut runs: [Vec<Run>; 3] = Default::default();
    let (mut micros, mut longest) = (0.0, 0.0_f64);
    for _ in 0..count / TALLIED {
        let tallied: Vec<_> = (0..TALLIED).map(|_| activities.take()).collect();
        let started = Instant::now();
        let mut tally = UsageTally::default();
        for (user, action, date) in &tallied {
            tally.add(&CountedActivity::new(*user, action, 1, *date, *date));
        }
        runs[0].push(tally.into_blocks());
        join(&mut runs)?;
        let taken = started.elapsed().as_secs_f64() * 1e6;
        (micros, longest) = (micros + taken, longest.max(taken));
    }
    println!("tallied: {:.3} us each, longest step {:.1} ms", micros / count as f64, longest / 1e3);
    let blocks: Vec<&Vec<u8>> = runs.iter().flatten().flatten().map(|(_, bytes)| bytes).collect();
    let bytes: usize = blocks.iter().map(|bytes| bytes.len()).sum();
    println!("{} blocks, {:.2} bytes each", blocks.len(), bytes as f64 / count as f64);
    for interval in ["day", "week", "month"] {
        let days = [("from", "2025-11-20"), ("to", "2026-11-20"), ("interval", interval)];
        let days = days.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = ReportQuery::parse(ReportKind::Usage, &days).map_err(|_| "no query")?;
        let options = query.options(end, Zone::UTC, None, None)?;
        let plan = UsageDays::from_query(&query, &options)?;
        let (mut counted, mut reported) = (f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let mut counting = plan.counting();
            for block in &blocks {
                counting.add_block(block, &|_| true)?;
            }
            let counts = counting.finish();
            counted = counted.min(started.elapsed().as_secs_f64() * 1e3);
            let report = plan.report(&counts, &company_of);
            assert!(!report.rows.is_empty());
            reported = reported.min(started.elapsed().as_secs_f64() * 1e3);
        }
        println!("by {interval}: counted {counted:.1} ms, reported {reported:.1} ms");
    }
    Ok(())
}

/// Joins runs of a level to one of the next level, as often as there are enough.
fn join([first, second, last]: &mut [Vec<Run>; 3]) -> Result<(), MalformedBlock> {
    join_level(first, second)?;
    join_level(second, last)
}

fn join_level(runs: &mut Vec<Run>, next: &mut Vec<Run>) -> Result<(), MalformedBlock> {
    if runs.len() < JOINED {
        return Ok(());
    }
    let mut joined = UsageTally::default();
    for (_, bytes) in std::mem::take(runs).iter().flatten() {
        joined.add_block(bytes, None)?;
    }
    next.push(joined.into_blocks());
    Ok(())
}

/// Activities one after the other, of some users more than of others.
struct Activities {
    seed: u64,
    number: usize,
    count: usize,
    end: Timestamp,
}

impl Activities {
    fn random(&mut self, limit: u64) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % limit
    }

    fn take(&mut self) -> (ObjectId, String, Timestamp) {
        let user = self.random(USERS) * self.random(USERS) / USERS;
        let mut id = [0; 12];
        id[4..].copy_from_slice(&(user * 0x9e37_79b9).to_be_bytes());
        let action = format!("Opened report {}", self.random(ACTIONS));
        let ahead = (self.count - self.number) as f64 / self.count as f64;
        let date = self.end.as_ms() - (ahead * 365.0 * DAY_MS as f64) as i64;
        self.number += 1;
        (ObjectId::from_bytes(id), action, Timestamp::from_ms_clamped(date))
    }
}

fn company_of(user: ObjectId) -> Option<ObjectId> {
    let company = user.as_bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>() % COMPANIES;
    let mut id = [1; 12];
    id[4..].copy_from_slice(&company.to_be_bytes());
    Some(ObjectId::from_bytes(id))
}
