//! Tables that are the same in every world, and are made when they are first asked for.

use std::sync::LazyLock;

use crate::smd::schema::SCHEMA;
use crate::{managedfields, openapi, printers, schema};

/// Makes all tables that requests need, but for the documents of OpenAPI, which few ask for. Whoever gives a simulation a process of its own by `fork` does this before: else
/// each of them makes the tables anew, and one that begins while a thread of its parent makes them waits for that thread,
/// which it does not have, for ever.
pub fn prepare() {
    schema::prepare();
    LazyLock::force(&SCHEMA);
    managedfields::prepare();
    printers::prepare();
    openapi::prepare();
}
