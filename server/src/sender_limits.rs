//! Senders of events without a token: they need only the UUID of a tenant, which every visitor of its pages knows.
//! Their events have a daily limit of their own, for the tenant and for each address: one address can use at most half
//! of it (D5).
//!
//! Use is counted in memory, from midnight to midnight in UTC; keys, which are stored for a day, over the last day. A
//! restart resets the counts; no client can cause one.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    num::NonZeroU64,
    time::Duration,
};

use parking_lot::Mutex;
use poem::Request;
use svctrack_core::value::{TenantId, Timestamp, time::DAY_MS};
use svctrack_store::{ParkedToday, RateLimits, Tenant};

use crate::limits::{EVENT_BYTES, MAX_ADDRESSES, MAX_KEYS_A_DAY};

/// Milliseconds of an hour.
const HOUR_MS: i64 = 60 * 60 * 1_000;
/// Leading bytes of an IPv6 address that one sender has: those of the smallest network that providers assign.
const NETWORK_BYTES: usize = 8;

/// Address of a sender: for IPv6 its network, within which a sender can choose addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SenderAddress([u8; 16]);

impl SenderAddress {
    /// All addresses beyond those that are counted separately.
    const OTHERS: Self = Self([0; 16]);

    /// Address of a request's client. For a proxy on the same machine that does not name the client it is unknown.
    pub(crate) fn from_request(request: &Request) -> Option<Self> {
        let client = request.remote_addr().as_socket_addr()?.ip().to_canonical();
        (!client.is_loopback()).then(|| client.into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<IpAddr> for SenderAddress {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.to_ipv6_mapped().octets()),
            IpAddr::V6(address) => {
                let mut bytes = address.octets();
                bytes.iter_mut().skip(NETWORK_BYTES).for_each(|byte| *byte = 0);
                Self(bytes)
            }
        }
    }
}

/// Sender of events of a tenant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) tenant: Tenant,
    /// Limits that the tenant has set for itself.
    pub(crate) limits: RateLimits,
    /// None where the address is not known.
    pub(crate) address: Option<SenderAddress>,
}

/// An allowance of callers without a token that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExceededAllowance {
    pub(crate) of: Allowance,
    pub(crate) wait: Duration,
}

/// Resource that is limited for callers without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// Bytes that are stored in a day.
    Bytes,
    Keys,
    /// Places for parked events.
    Parked,
}

/// Use of all senders so far.
pub(crate) struct Senders {
    /// Bytes that the senders of a tenant may have stored in a day.
    max_bytes: u64,
    of_tenants: Mutex<HashMap<TenantId, TenantAllowances>>,
}

/// Use of the senders of a tenant: of keys in the last day, and of all else today.
struct TenantAllowances {
    day: i64,
    bytes: AllowanceUse,
    parked: HashMap<SenderAddress, ParkedToday>,
    keys: KeysByHour,
}

impl Senders {
    /// Senders that may have up to `max_bytes` stored in a day for each tenant; none is no limit.
    pub(crate) fn new(max_bytes: Option<NonZeroU64>) -> Self {
        Self {
            max_bytes: max_bytes.map_or(u64::MAX, NonZeroU64::get),
            of_tenants: Mutex::default(),
        }
    }

    /// Counts events and the bytes of their text; returns the events of their address that were parked today.
    ///
    /// # Errors
    /// [`ExceededAllowance`].
    pub(crate) fn take_events(
        &self,
        sender: &Sender,
        size: (usize, usize),
        now: Timestamp,
    ) -> Result<Option<ParkedToday>, ExceededAllowance> {
        let bytes = counted_bytes(size);
        self.count(sender, now, |had| {
            if !may_take(self.max_bytes, [&had.bytes], sender.address, bytes) {
                return Err(ExceededAllowance { of: Allowance::Bytes, wait: until_midnight(now) });
            }
            had.bytes.add(sender.address, bytes);
            Ok(sender.address.map(|address| {
                let address = counted_address(&had.parked, address);
                had.parked.entry(address).or_default().clone()
            }))
        })
    }

    /// Gives back what [`Self::take_events`] has counted at `now`, of events that are not stored.
    pub(crate) fn give_back_events(&self, sender: &Sender, size: (usize, usize), now: Timestamp) {
        if let Some(had) = self.of_tenants.lock().get_mut(&sender.tenant.id())
            && had.day == now.epoch_days()
        {
            had.bytes.give_back(sender.address, counted_bytes(size));
        }
    }

    /// Counts a call with an `Idempotency-Key`.
    ///
    /// # Errors
    /// [`ExceededAllowance`].
    pub(crate) fn take_key(
        &self,
        sender: &Sender,
        now: Timestamp,
    ) -> Result<(), ExceededAllowance> {
        self.count(sender, now, |had| had.keys.take(sender.address, now))
    }

    /// Gives back what [`Self::take_key`] has counted at `now`, of a call whose key is not stored, or was before.
    pub(crate) fn give_back_key(&self, sender: &Sender, now: Timestamp) {
        if let Some(had) = self.of_tenants.lock().get_mut(&sender.tenant.id()) {
            had.keys.give_back(sender.address, now);
        }
    }

    fn count<T>(
        &self,
        sender: &Sender,
        now: Timestamp,
        count: impl FnOnce(&mut TenantAllowances) -> T,
    ) -> T {
        let today = now.epoch_days();
        let mut of_tenants = self.of_tenants.lock();
        let had = of_tenants.entry(sender.tenant.id()).or_insert_with(|| TenantAllowances {
            day: today,
            bytes: AllowanceUse::default(),
            parked: HashMap::new(),
            keys: KeysByHour::default(),
        });
        if had.day != today {
            (had.day, had.bytes, had.parked) = (today, AllowanceUse::default(), HashMap::new());
        }
        count(had)
    }
}

/// Bytes that count for a number of events with texts of `bytes`.
fn counted_bytes((events, bytes): (usize, usize)) -> u64 {
    let bytes = bytes.saturating_add(events.saturating_mul(EVENT_BYTES));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn until_midnight(now: Timestamp) -> Duration {
    let ms = (now.epoch_days() + 1) * DAY_MS - now.as_ms();
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// The address itself, or the shared one beyond the limit of those that are counted separately.
fn counted_address<V>(known: &HashMap<SenderAddress, V>, address: SenderAddress) -> SenderAddress {
    let is_one = known.len() < MAX_ADDRESSES || known.contains_key(&address);
    if is_one { address } else { SenderAddress::OTHERS }
}

/// Use in a period, of all and of each address.
#[derive(Default)]
struct AllowanceUse {
    all: u64,
    by: HashMap<SenderAddress, u64>,
}

impl AllowanceUse {
    fn add(&mut self, address: Option<SenderAddress>, amount: u64) {
        self.all = self.all.saturating_add(amount);
        if let Some(address) = address {
            let had = self.by.entry(counted_address(&self.by, address)).or_default();
            *had = had.saturating_add(amount);
        }
    }

    fn give_back(&mut self, address: Option<SenderAddress>, amount: u64) {
        self.all = self.all.saturating_sub(amount);
        let had = address.map(|address| counted_address(&self.by, address));
        if let Some(had) = had.and_then(|address| self.by.get_mut(&address)) {
            *had = had.saturating_sub(amount);
        }
    }

    fn amount_of(&self, address: SenderAddress) -> u64 {
        self.by.get(&counted_address(&self.by, address)).map_or(0, |had| *had)
    }
}

/// Whether a sender may use an amount more of a maximum `max`, after the use in some periods: it leaves to others as
/// much as it has used. A sender without a known address may use all: behind a proxy that does not send it, that is
/// every sender.
fn may_take<'h>(
    max: u64,
    periods: impl IntoIterator<Item = &'h AllowanceUse> + Clone,
    address: Option<SenderAddress>,
    amount: u64,
) -> bool {
    let sum = |amount_of: &dyn Fn(&AllowanceUse) -> u64| {
        periods.clone().into_iter().fold(amount, |sum, had| sum.saturating_add(amount_of(had)))
    };
    let Some(left) = max.checked_sub(sum(&|had| had.all)) else { return false };
    address.is_none_or(|address| sum(&|had| had.amount_of(address)) <= left)
}

/// Number of keys that were stored in each of the last 24 hours.
#[derive(Default)]
struct KeysByHour(VecDeque<(i64, AllowanceUse)>);

impl KeysByHour {
    /// Hours before this one whose keys may still be stored.
    const HOURS: i64 = 24;

    fn take(
        &mut self,
        address: Option<SenderAddress>,
        now: Timestamp,
    ) -> Result<(), ExceededAllowance> {
        let hour = now.as_ms().div_euclid(HOUR_MS);
        // Hours that are ahead are those of a wrong clock.
        self.0.retain(|(taken_in, _)| (hour - Self::HOURS..=hour).contains(taken_in));
        if !may_take(MAX_KEYS_A_DAY, self.0.iter().map(|(_, had)| had), address, 1) {
            let first = self.0.front().map_or(hour, |(first, _)| *first);
            let ms = (first + Self::HOURS + 1) * HOUR_MS - now.as_ms();
            let wait = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
            return Err(ExceededAllowance { of: Allowance::Keys, wait });
        }
        match self.0.back_mut() {
            Some((last, had)) if *last == hour => had.add(address, 1),
            _ => {
                let mut had = AllowanceUse::default();
                had.add(address, 1);
                self.0.push_back((hour, had));
            }
        }
        Ok(())
    }

    fn give_back(&mut self, address: Option<SenderAddress>, now: Timestamp) {
        let hour = now.as_ms().div_euclid(HOUR_MS);
        if let Some((_, had)) = self.0.iter_mut().find(|(taken_in, _)| *taken_in == hour) {
            had.give_back(address, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use poem::{
        Body, RequestParts,
        http::uri::Scheme,
        web::{LocalAddr, RemoteAddr},
    };

    use super::*;

    fn noon() -> Timestamp {
        Timestamp::from_ms_clamped(DAY_MS / 2)
    }

    fn sender(tenant: u8, address: &str) -> Sender {
        Sender {
            tenant: Tenant::assume_authorized(TenantId::from_bytes([tenant; 16])),
            limits: RateLimits::default(),
            address: address.parse().ok().map(IpAddr::into),
        }
    }

    fn takes(senders: &Senders, sender: &Sender, bytes: usize, now: Timestamp) -> bool {
        senders.take_events(sender, (0, bytes), now).is_ok()
    }

    #[test]
    fn an_address_leaves_to_others_as_much_as_it_has_had_and_tenants_have_their_own() {
        let senders = Senders::new(NonZeroU64::new(12));
        let (a, b) = (sender(1, "192.0.2.1"), sender(1, "192.0.2.2"));
        assert!(takes(&senders, &a, 6, noon()) && !takes(&senders, &a, 1, noon()));
        assert!(takes(&senders, &b, 3, noon()) && !takes(&senders, &b, 1, noon()));
        let unknown = sender(1, "");
        assert!(takes(&senders, &unknown, 3, noon()) && !takes(&senders, &unknown, 1, noon()));
        assert!(takes(&senders, &sender(2, "192.0.2.1"), 6, noon()));
        let tomorrow = Timestamp::from_ms_clamped(DAY_MS);
        assert!(takes(&senders, &a, 6, tomorrow));
    }

    #[test]
    fn each_event_counts_more_than_its_text() {
        let senders = Senders::new(NonZeroU64::new(2 * EVENT_BYTES as u64 + 3));
        let sender = sender(1, "");
        assert!(senders.take_events(&sender, (1, 3), noon()).is_ok());
        let rejected = senders.take_events(&sender, (1, 1), noon());
        let half_a_day = Duration::from_secs(12 * 60 * 60);
        assert_eq!(
            rejected.unwrap_err(),
            ExceededAllowance { of: Allowance::Bytes, wait: half_a_day }
        );
    }

    #[test]
    fn what_is_given_back_can_be_used_again() {
        let senders = Senders::new(NonZeroU64::new(12));
        let a = sender(1, "192.0.2.1");
        for _ in 0..3 {
            assert!(takes(&senders, &a, 6, noon()) && !takes(&senders, &a, 1, noon()));
            senders.give_back_events(&a, (0, 6), noon());
        }
        let tomorrow = Timestamp::from_ms_clamped(DAY_MS);
        assert!(takes(&senders, &a, 6, tomorrow));
        senders.give_back_events(&a, (0, 6), noon());
        assert!(!takes(&senders, &a, 1, tomorrow));
        for _ in 0..MAX_KEYS_A_DAY {
            senders.take_key(&a, noon()).unwrap();
            senders.give_back_key(&a, noon());
        }
    }

    #[test]
    fn what_was_parked_is_counted_for_an_address() {
        let senders = Senders::new(None);
        let parked = |address| senders.take_events(&sender(1, address), (1, 1), noon()).unwrap();
        parked("192.0.2.1").unwrap().add(1);
        assert_eq!(parked("192.0.2.1").unwrap().count(), 1);
        assert_eq!(parked("192.0.2.2").unwrap().count(), 0);
        assert!(parked("").is_none());
    }

    #[test]
    fn an_address_has_half_of_the_keys_of_any_day_and_not_of_each_calendar_day() {
        let senders = Senders::new(None);
        let (a, b) = (sender(1, "192.0.2.1"), sender(1, "192.0.2.2"));
        let at = |minutes: i64| Timestamp::from_ms_clamped(10 * DAY_MS + minutes * 60_000);
        let take = |sender, now| {
            (0..=MAX_KEYS_A_DAY).take_while(|_| senders.take_key(sender, now).is_ok()).count()
                as u64
        };
        assert_eq!(take(&a, at(-6)), MAX_KEYS_A_DAY / 2);
        let rejected = senders.take_key(&a, at(1)).unwrap_err();
        assert_eq!(
            rejected,
            ExceededAllowance {
                of: Allowance::Keys,
                wait: Duration::from_secs((24 * 60 - 1) * 60)
            }
        );
        assert_eq!(take(&b, at(1)), MAX_KEYS_A_DAY / 4);
        assert!(senders.take_key(&a, at(24 * 60 - 1)).is_err());
        assert!(senders.take_key(&a, at(24 * 60)).is_ok());
        // A clock that was ahead for a while does not retain keys for longer.
        assert!(senders.take_key(&a, at(365 * 24 * 60)).is_ok());
        assert_eq!(take(&a, at(24 * 60)), MAX_KEYS_A_DAY / 2);
    }

    #[test]
    fn addresses_beyond_the_limit_are_counted_as_one() {
        let mut had = AllowanceUse::default();
        for number in 0..2 * MAX_ADDRESSES as u32 {
            had.add(Some(IpAddr::from(number.to_be_bytes()).into()), 1);
        }
        assert_eq!(had.by.len(), MAX_ADDRESSES + 1);
        assert_eq!(had.by[&SenderAddress::OTHERS], MAX_ADDRESSES as u64);
    }

    #[test]
    fn what_comes_from_the_same_machine_has_no_address() {
        let address_of = |peer: &str| {
            let peer = SocketAddr::new(peer.parse().unwrap(), 80);
            let (head, ()) = hyper::Request::new(()).into_parts();
            let peers = (LocalAddr(peer.into()), RemoteAddr(peer.into()));
            let head = RequestParts::from((head, peers.0, peers.1, Scheme::HTTP));
            SenderAddress::from_request(&Request::from_parts(head, Body::empty()))
        };
        let address = |text: &str| Some(SenderAddress::from(text.parse::<IpAddr>().unwrap()));
        for (peer, expected) in [
            ("127.0.0.1", None),
            ("::ffff:127.0.0.1", None),
            ("::1", None),
            ("192.0.2.7", address("192.0.2.7")),
            ("::ffff:192.0.2.7", address("192.0.2.7")),
            ("2001:db8:1:2:3::4", address("2001:db8:1:2::")),
        ] {
            assert_eq!(address_of(peer), expected, "{peer}");
        }
    }
}
