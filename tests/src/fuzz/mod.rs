//! Parsers of what comes from outside, tried with unforeseen inputs: seeds, and seeds with random edits.
//!
//! A seed is a file `tests/fuzz/<target>/<sentence>`; the requests of `tests/cases` are seeds too. An input for which a
//! target panics is made as small as possible, and written where its message says, from where it can become a seed.

mod backups;
mod edits;
mod requests;
mod rows;
mod values;

use std::{
    fs,
    path::Path,
    process,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use sha2::{Digest as _, Sha256};

use self::edits::Input;
use crate::project;

/// Seeds that are replayed, at most: files come first.
const MAX_REPLAYED: usize = 200;
/// Inputs between two looks at the clock.
const INPUTS_PER_BATCH: u32 = 100;
/// Steps towards a smaller input.
const MAX_SHRINK_STEPS: u32 = 2_000;
/// How long one input may take, on a machine that is busy with other work: most take some microseconds.
const MAX_TIME_OF_INPUT: Duration = Duration::from_secs(60);

/// A parser, and the laws that it keeps for any input.
pub struct Target {
    pub name: &'static str,
    /// Panics where a law is broken; returns whether the input was accepted.
    pub check: fn(&[u8]) -> bool,
    /// The seeds that are no files. A few are replayed as they are: cases are tried elsewhere.
    pub more_seeds: fn() -> Vec<Vec<u8>>,
}

/// How many inputs were tried, and how many of them a target accepted.
#[derive(Debug, Default)]
pub struct Tried {
    pub inputs: u64,
    pub accepted: u64,
}

/// Every target, by name.
pub const TARGETS: [Target; 13] = [
    Target { name: "backup", check: backups::check, more_seeds: backups::seeds },
    Target { name: "csv", check: rows::check_csv, more_seeds: Vec::new },
    Target { name: "dates", check: values::check_dates, more_seeds: Vec::new },
    Target { name: "events", check: values::check_events, more_seeds: requests::bodies },
    Target { name: "forms", check: values::check_forms, more_seeds: requests::queries },
    Target { name: "html", check: values::check_html, more_seeds: Vec::new },
    Target { name: "ids", check: values::check_ids, more_seeds: Vec::new },
    Target { name: "json", check: values::check_json, more_seeds: requests::bodies },
    Target { name: "ndjson", check: rows::check_ndjson, more_seeds: requests::bodies },
    Target { name: "proxies", check: values::check_proxies, more_seeds: Vec::new },
    Target { name: "proxy_protocol", check: values::check_proxy_protocol, more_seeds: Vec::new },
    Target { name: "queries", check: values::check_queries, more_seeds: requests::queries },
    Target { name: "requests", check: requests::check, more_seeds: requests::seeds },
];

impl Target {
    /// The target with this name.
    pub fn named(name: &str) -> &'static Self {
        static ALL: &[Target] = &TARGETS;
        ALL.iter().find(|target| target.name == name).unwrap()
    }

    /// Its seeds, each with its name.
    pub fn seeds(&self) -> Vec<(String, Vec<u8>)> {
        let folder = project().join("tests/fuzz").join(self.name);
        let mut seeds = Vec::new();
        // Git knows no empty folder.
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let path = file.unwrap().path();
            seeds.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
        seeds.sort();
        let more = (self.more_seeds)().into_iter();
        seeds.extend(more.map(|seed| (format!("a seed of {}", self.name), seed)));
        seeds
    }

    /// Tries each seed as it is.
    ///
    /// # Errors
    /// What to do about the first for which the target panics.
    pub fn replay(&self) -> Result<Tried, String> {
        let mut tried = Tried::default();
        let watch = Watch::begin();
        for (name, seed) in self.seeds().into_iter().take(MAX_REPLAYED) {
            watch.show(&seed);
            let checked = std::panic::catch_unwind(|| (self.check)(&seed));
            let is_accepted = checked.map_err(|_| format!("{}: {name}", self.name))?;
            tried.count(is_accepted);
        }
        Ok(tried)
    }

    /// Tries random inputs for a time; the same seed makes the same ones of the same seeds.
    ///
    /// # Errors
    /// What to do about the first for which the target panics.
    pub fn run(&self, time: Duration, seed: u64) -> Result<Tried, String> {
        let begun = Instant::now();
        let seeds: Vec<_> = self.seeds().into_iter().map(|(_, seed)| seed).collect();
        let inputs = edits::inputs(seeds);
        let config = Config {
            cases: INPUTS_PER_BATCH,
            failure_persistence: None,
            max_shrink_iters: MAX_SHRINK_STEPS,
            ..Config::default()
        };
        let tried = Mutex::new(Tried::default());
        let watch = Watch::begin();
        for batch in 0_u64.. {
            if begun.elapsed() >= time {
                break;
            }
            let bytes: [u8; 32] =
                Sha256::digest([seed, batch].map(u64::to_be_bytes).concat()).into();
            let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
            let mut runner = TestRunner::new_with_rng(config.clone(), random);
            let done = runner.run(&inputs, |Input(input)| {
                watch.show(&input);
                let is_accepted = (self.check)(&input);
                tried.lock().unwrap().count(is_accepted);
                Ok(())
            });
            match done {
                Ok(()) => {}
                Err(TestError::Fail(reason, Input(input))) => {
                    return Err(self.report(&reason.to_string(), &input));
                }
                Err(TestError::Abort(reason)) => return Err(reason.to_string()),
            }
        }
        Ok(tried.into_inner().unwrap())
    }

    /// Writes an input that has to be looked at; returns what to do with it.
    fn report(&self, reason: &str, input: &[u8]) -> String {
        let folder = project().join("target/fuzz").join(self.name);
        let digest = Sha256::digest(input);
        let file = folder
            .join(digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>());
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, input).unwrap();
        let (name, file) = (self.name, relative(&file));
        format!(
            "{name}: {reason}\ninput: {}\nto keep it as a seed: cp {file} tests/fuzz/{name}/WHAT_IT_SHOWS",
            input.escape_ascii()
        )
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(project()).unwrap_or(path).display().to_string()
}

impl Tried {
    fn count(&mut self, is_accepted: bool) {
        self.inputs += 1;
        self.accepted += u64::from(is_accepted);
    }
}

/// Ends the program with the input that takes too long: what never returns cannot be made smaller.
struct Watch(Arc<Mutex<(Instant, Vec<u8>)>>);

impl Watch {
    fn begin() -> Self {
        let current = Arc::new(Mutex::new((Instant::now(), Vec::new())));
        let watched = Arc::downgrade(&current);
        thread::spawn(move || {
            while let Some(current) = watched.upgrade() {
                let (begun, input) = current.lock().unwrap().clone();
                drop(current);
                if begun.elapsed() > MAX_TIME_OF_INPUT {
                    eprintln!("an input takes too long: {}", input.escape_ascii());
                    process::abort();
                }
                thread::sleep(Duration::from_secs(1));
            }
        });
        Self(current)
    }

    fn show(&self, input: &[u8]) {
        let (begun, shown) = &mut *self.0.lock().unwrap();
        *begun = Instant::now();
        input.clone_into(shown);
    }
}
