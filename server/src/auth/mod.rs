//! Authentication and authorization: only here do credentials become a tenant and its permissions (R43).

mod authenticate;
mod authorization_header;
mod authorize;
mod caller;
pub(crate) mod csrf;
pub(crate) mod denials;
mod event_sender;
pub(crate) mod failed_sign_ins;
pub(crate) mod one_time_link;
pub(crate) mod session;
pub(crate) mod session_uses;
mod token_digest;
mod token_format;

pub use self::token_format::Token;
pub(crate) use self::{
    authenticate::authenticate,
    authorize::{authorize, authorize_admin, authorize_for},
    caller::{Caller, LocalAccess, RequestSource, ServiceAccess, SignedIn},
    event_sender::{sender_in_path, sender_of_basic, sender_of_write_key},
};
