//! Continue tokens (`apiserver/pkg/storage/continue.go`): where the next page of a list begins.

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};
use serde_json::json;
use wavetank_api::Status;
use wavetank_engine::mutant;
use wavetank_etcd::Revision;

/// Go's `base64.RawURLEncoding`, which does not look at the last bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// A token, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Continue {
    /// The revision of the first page; `None`: whatever is newest.
    pub revision: Option<Revision>,
    /// Where the page begins, without the prefix of the list.
    pub start: String,
}

/// `DecodeContinue`.
///
/// # Errors
/// 400 for a token that this server did not make.
pub fn decode_continue(token: &str) -> Result<Continue, Status> {
    let invalid = |why: String| {
        Status::new_bad_request(format!(
            "invalid continue token: continue key is not valid{why}"
        ))
    };
    let bytes = LENIENT.decode(token).map_err(|error| {
        // Go names the first bad byte.
        let at = match error {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            _ => token.len() - token.len() % 4,
        };
        invalid(format!(": illegal base64 data at input byte {at}"))
    })?;
    let read = wavetank_api::decode::json(&bytes).map_err(|error| invalid(format!(": {error}")))?;
    let text = |field: &str| read.get(field).and_then(|v| v.as_str()).unwrap_or_default();
    if text("v") != "meta.k8s.io/v1" {
        let version = text("v");
        return Err(invalid(format!(
            ": server does not recognize this encoded version {version}"
        )));
    }
    let revision = read
        .get("rv")
        .and_then(serde_json::Value::as_i64)
        .unwrap_or(0);
    if revision == 0 {
        return Err(invalid(
            ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into(),
        ));
    }
    let start = text("start");
    if start.is_empty() {
        return Err(invalid(
            ": encoded start key empty (version meta.k8s.io/v1)".into(),
        ));
    }
    if !is_clean(start) {
        return Err(invalid(format!(": {start}")));
    }
    Ok(Continue {
        revision: u64::try_from(revision).ok().filter(|_| {
            !mutant!(
                "token-forgets-revision",
                "a continue token loses the revision of its list"
            )
        }),
        start: start.trim_start_matches('/').to_owned(),
    })
}

/// Would `path.Clean` leave it as it is? A token must not lead out of its prefix.
fn is_clean(start: &str) -> bool {
    let path = start.strip_prefix('/').unwrap_or(start);
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// `EncodeContinue`.
pub fn encode_continue(start: &str, revision: Option<Revision>) -> String {
    let revision = revision.map_or(json!(-1), |revision| json!(revision));
    let token = format!(
        "{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":{}}}",
        json!(start)
    );
    LENIENT.encode(token)
}
