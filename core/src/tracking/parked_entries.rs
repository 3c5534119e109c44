//! Entries of the report (R42) whose events may be parked (R35): each is returned with how many still are.

use super::integration_issues::ReportEntry;
use crate::{
    plan::Route,
    value::{Document, Json},
};

impl ReportEntry {
    /// Whether events of this entry may be parked, so that they can be processed again.
    pub fn can_have_parked(&self) -> bool {
        match self.code.as_str() {
            "company_unknown" | "user_unknown" => self.route != Route::Pipeline,
            code => code.starts_with("too_many_new_") || code.ends_with("_not_created"),
        }
    }

    /// The entry as the report returns it, with the number of its events that are still parked; null where its events
    /// are never parked.
    pub fn to_response_with(&self, parked: u64) -> Document {
        let mut response = self.to_response();
        let parked = i64::try_from(parked).unwrap_or(i64::MAX);
        let parked = if self.can_have_parked() { Json::integer(parked) } else { Json::null() };
        response.set("parked", parked);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::Finding,
        value::{ObjectId, Timestamp},
    };

    #[test]
    fn only_entries_whose_events_may_be_parked_count_them() {
        for (route, code, expect) in [
            (Route::Realtime, "company_unknown", "7"),
            (Route::Pipeline, "company_unknown", "null"),
            (Route::Pipeline, "company_not_created", "7"),
            (Route::Bulk, "too_many_new_users", "7"),
            (Route::Bulk, "member_unknown", "null"),
        ] {
            let finding = Finding {
                route,
                code,
                cause: String::new(),
                message: String::new(),
                at: Timestamp::MIN,
                count: 9,
                sample: Document::default(),
                people: Vec::new(),
            };
            let entry = ReportEntry::from_finding(&finding, ObjectId::MIN, Vec::new());
            let response = entry.to_response_with(7);
            let text = response.to_text();
            assert!(text.ends_with(&format!(r#","parked":{expect}}}"#)), "{text}");
        }
    }
}
