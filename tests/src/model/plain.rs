//! What events come to, one after the other, by the specification's rules 1 and 2 and its readings R34 to
//! R37, written down as plainly as can be.

use std::collections::{BTreeMap, HashMap};

use super::{
    generator::{Company, Event},
    time::DAY_MS,
};

/// Days that count as the last ones.
const RECENT_DAYS: i64 = 14;

/// Activity of a user or a company.
#[derive(Clone, Debug, Default)]
pub struct Engagement {
    /// When they were last active, at the earliest and at the latest: the future counts as the time at
    /// which the server took the event in.
    pub last_active: Option<(i64, i64)>,
    days: BTreeMap<i64, i64>,
    /// Sum of count x weight, in hundredths.
    pub experience: i64,
}

impl Engagement {
    fn add(&mut self, event: &Event, received_at: i64, end: i64) {
        if event.passive {
            return;
        }
        let date = event.date.unwrap_or(received_at);
        let seen = if date <= received_at { (date, date) } else { (received_at, end) };
        self.see(seen);
        if event.is_activity() {
            let day = date.min(received_at).div_euclid(DAY_MS);
            *self.days.entry(day).or_default() += event.times();
            self.experience += event.times() * event.weight.unwrap_or(100);
        }
    }

    fn see(&mut self, (earliest, latest): (i64, i64)) {
        let known = self.last_active.unwrap_or((earliest, latest));
        self.last_active = Some((known.0.max(earliest), known.1.max(latest)));
    }

    /// Adds that of another user of the same company.
    pub fn join(&mut self, other: &Self) {
        if let Some(seen) = other.last_active {
            self.see(seen);
        }
        for (day, beats) in &other.days {
            *self.days.entry(*day).or_default() += beats;
        }
        self.experience += other.experience;
    }

    /// Beats of all time.
    pub fn beats_total(&self) -> i64 {
        self.days.values().sum()
    }

    /// Beats of the last days, today among them.
    pub fn beats(&self, today: i64) -> i64 {
        self.days.range(today - RECENT_DAYS + 1..=today).map(|(_, beats)| beats).sum()
    }

    /// How beats change, in ten-thousandths.
    pub fn trend(&self, today: i64) -> i64 {
        let (recent, before) = (self.beats(today), self.beats(today - RECENT_DAYS));
        let most = recent.max(before).max(1);
        // Half a ten-thousandth is a whole one.
        let rounded = |change: i64| (20_000 * change + most) / (2 * most);
        (recent - before).signum() * rounded((recent - before).abs())
    }

    /// The same in a word.
    pub fn state(&self, today: i64) -> &'static str {
        let Some((first, _)) = self.days.iter().find(|(_, beats)| **beats > 0) else {
            return "never";
        };
        match self.trend(today) {
            _ if self.beats(today) == 0 => "inactive",
            _ if *first > today - RECENT_DAYS => "new",
            2_000.. => "growing",
            ..=-2_000 => "declining",
            _ => "steady",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct User {
    pub external_id: Option<String>,
    /// Their e-mail, as it was sent.
    pub email: Option<String>,
    /// The first word of their name.
    pub first_name: Option<String>,
    /// The rest of it.
    pub last_name: Option<String>,
    /// The `externalId` of their company.
    pub company: String,
    /// How active they are.
    pub engagement: Engagement,
}

/// What the server should have come to.
#[derive(Default)]
pub struct Model {
    pub users: Vec<User>,
    by_id: HashMap<String, usize>,
    by_email: HashMap<String, usize>,
    companies: HashMap<String, String>,
    /// How often an id and an e-mail named two users, and how often another company than the user's was
    /// sent, by route.
    pub reported: BTreeMap<(&'static str, String), i64>,
}

impl Model {
    pub fn from_companies<'a>(companies: impl IntoIterator<Item = &'a Company>) -> Self {
        let known = companies.into_iter();
        let companies = known.map(|known| (known.external_id.clone(), known.domain.clone()));
        Self { companies: companies.collect(), ..Self::default() }
    }

    /// Ingests an event, and returns its owner; `None` while it has to wait.
    pub fn take(
        &mut self,
        event: &Event,
        route: &str,
        received_at: i64,
        end: i64,
    ) -> Option<usize> {
        let at = self.find(event, route).or_else(|| self.create(event))?;
        if event.asset.is_some() && event.is_activity() {
            self.report("asset_unknown", route);
        }
        let user = &mut self.users[at];
        if let (None, None, Some(name)) = (&user.first_name, &user.last_name, &event.name) {
            let mut words = name.splitn(2, ' ').map(str::trim_start).map(str::to_owned);
            (user.first_name, user.last_name) = (words.next(), words.next());
        }
        user.engagement.add(event, received_at, end);
        Some(at)
    }

    /// Whether nothing identifies the owner of an event.
    pub fn waits(&self, event: &Event) -> bool {
        self.known(event).is_none() && self.company_of(event).is_none()
    }

    fn report(&mut self, code: &'static str, route: &str) {
        *self.reported.entry((code, route.to_owned())).or_default() += 1;
    }

    fn holder_of(&self, email: &Option<String>) -> Option<usize> {
        self.by_email.get(&email.as_ref()?.to_lowercase()).copied()
    }

    /// By the id, else by the e-mail, unless that is of a user with another id.
    fn known(&self, event: &Event) -> Option<usize> {
        let by_email = self.holder_of(&event.email);
        let Some(id) = &event.external_id else { return by_email };
        let by_id = self.by_id.get(id).copied();
        by_id.or_else(|| by_email.filter(|at| self.users[*at].external_id.is_none()))
    }

    /// The known user, with what was empty filled.
    fn find(&mut self, event: &Event, route: &str) -> Option<usize> {
        let at = self.known(event)?;
        let holder = self.holder_of(&event.email);
        if holder.is_some_and(|holder| holder != at) {
            self.report("identities_differ", route);
        }
        let sent = event.company.as_ref().filter(|sent| self.companies.contains_key(*sent));
        if sent.is_some_and(|sent| *sent != self.users[at].company) {
            self.report("company_differs", route);
        }
        if let (None, Some(id)) = (&self.users[at].external_id, &event.external_id) {
            self.users[at].external_id = Some(id.clone());
            self.by_id.insert(id.clone(), at);
        }
        if let (None, None, Some(email)) = (&self.users[at].email, holder, &event.email) {
            self.users[at].email = Some(email.clone());
            self.by_email.insert(email.to_lowercase(), at);
        }
        Some(at)
    }

    /// A new user of a known company; an e-mail that another user holds stays theirs.
    fn create(&mut self, event: &Event) -> Option<usize> {
        let company = self.company_of(event)?;
        let at = self.users.len();
        let email = event.email.clone().filter(|_| self.holder_of(&event.email).is_none());
        self.by_id.extend(event.external_id.clone().map(|id| (id, at)));
        self.by_email.extend(email.as_ref().map(|email| (email.to_lowercase(), at)));
        let external_id = event.external_id.clone();
        self.users.push(User { external_id, email, company, ..User::default() });
        Some(at)
    }

    /// The company that was sent, or the one that owns the e-mail's domain.
    fn company_of(&self, event: &Event) -> Option<String> {
        if let Some(sent) = &event.company {
            return self.companies.contains_key(sent).then(|| sent.clone());
        }
        let (_, domain) = event.email.as_ref()?.rsplit_once('@')?;
        let owner = self.companies.iter().find(|(_, owned)| *owned == domain);
        owner.map(|(company, _)| company.clone())
    }
}
