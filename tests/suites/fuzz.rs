//! Parsers of what comes from outside, with the seeds of `tests/fuzz` and with random inputs.
//!
//! `SVCTRACK_FUZZ_SECONDS` sets for how long each target is tried, `SVCTRACK_FUZZ_SEED` which inputs are made; the seed is
//! printed. `tests/run fuzz SECONDS` does the same in a release build.

use std::{
    env,
    io::{self, Write as _},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use svctrack_tests::fuzz::{TARGETS, Target};

/// How long each target is tried, by default.
const SECONDS: u64 = 8;

fn number_in(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::from(since.subsec_nanos()) ^ since.as_secs()
}

fn check(name: &str) {
    let target = Target::named(name);
    let replayed = target.replay().unwrap_or_else(|report| panic!("{report}"));
    assert!(replayed.accepted > 0, "{name} accepts none of its {} seeds", replayed.inputs);
    let time = Duration::from_secs(number_in("SVCTRACK_FUZZ_SECONDS").unwrap_or(SECONDS));
    let seed = number_in("SVCTRACK_FUZZ_SEED").unwrap_or_else(now_ns);
    let tried = target
        .run(time, seed)
        .unwrap_or_else(|report| panic!("SVCTRACK_FUZZ_SEED={seed}\n{report}"));
    let (seeds, inputs) = (replayed.inputs, tried.inputs);
    let percent = 100 * tried.accepted / inputs.max(1);
    // Past the test's own output, which is not shown when it passes.
    let _ = writeln!(
        io::stderr(),
        "FUZZ {name}: {seeds} seeds, {inputs} inputs, {percent} % accepted, SVCTRACK_FUZZ_SEED={seed}"
    );
}

macro_rules! targets {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check($name) })*

        #[test]
        fn every_target_is_tried() {
            let named: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(named, [$($name),*]);
        }
    };
}

targets! {
    no_backup_makes_its_reader_panic "backup"
    no_table_makes_its_reader_panic "csv"
    no_date_number_or_zone_makes_its_reader_panic "dates"
    no_event_makes_its_reader_panic "events"
    no_form_makes_its_check_panic "forms"
    no_html_makes_its_reader_panic "html"
    no_id_makes_its_reader_panic "ids"
    no_json_makes_its_reader_panic "json"
    no_lines_of_json_make_their_reader_panic "ndjson"
    no_client_hides_behind_the_header_of_its_proxy "proxies"
    no_header_of_the_proxy_protocol_makes_its_reader_panic "proxy_protocol"
    no_query_makes_its_reader_panic "queries"
    no_request_is_answered_with_an_error_of_the_server "requests"
}

#[test]
fn a_fault_is_found_made_small_and_written_to_the_file_in_its_message() {
    fn check(input: &[u8]) -> bool {
        assert!(!input.windows(2).any(|pair| pair == b"[["), "two brackets");
        true
    }
    let seeds = || vec![br#"{"a":[1,{"b":2}]}"#.to_vec()];
    let target = Target { name: "ids", check, more_seeds: seeds };
    let report = target.run(Duration::from_secs(60), 1).unwrap_err();
    assert!(report.contains("two brackets"), "{report}");
    let input = report.split("input: ").nth(1).unwrap().lines().next().unwrap();
    assert!(input.contains("[[") && input.len() < 60, "{report}");
    let file = report.split("cp ").nth(1).unwrap().split(' ').next().unwrap();
    let written = std::fs::read(svctrack_tests::project().join(file)).unwrap();
    assert_eq!(written.escape_ascii().to_string(), input);
}
