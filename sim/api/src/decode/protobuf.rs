//! Bodies in protobuf, as typed clients send them (`apimachinery/pkg/runtime/serializer/protobuf/protobuf.go`, and the
//! `Unmarshal` that is generated for each type): read by the numbers of the table, and handed on as the JSON that says the
//! same.

use serde_json::json;

use super::{base64, bytes, media_type};
use crate::http::{Body, Request};
use crate::json::{self, Json, Map};
use crate::schema::{self, Field, Shape, StructId, Type};
use crate::status::Status;
use crate::times::Stamp;

/// What a body begins with (`protoEncodingPrefix`).
const PREFIX: &[u8] = b"k8s\0";

/// The request with a body in JSON, if it has one in protobuf.
///
/// # Errors
/// 400, of what is no message of a kind.
pub fn as_json(request: &Request) -> Result<Option<Request>, Status> {
    let content_type = request.content_type.as_deref().unwrap_or_default();
    if media_type(content_type) != "application/vnd.kubernetes.protobuf" {
        return Ok(None);
    }
    let body = bytes(&request.body);
    if body.is_empty() {
        return Ok(None);
    }
    let object = unknown(body).map_err(Status::new_bad_request)?;
    Ok(Some(Request {
        content_type: Some("application/json".into()),
        body: Body::Bytes(object.to_string().into_bytes().into()),
        ..request.clone()
    }))
}

/// `runtime.Unknown`: a kind, and the message of its object.
fn unknown(body: &[u8]) -> Result<Json, String> {
    let message = body.strip_prefix(PREFIX).ok_or_else(|| {
        format!(
            "provided data does not appear to be a protobuf message, expected prefix {PREFIX:?}"
        )
    })?;
    let (mut meta, mut raw): (&[u8], &[u8]) = (&[], &[]);
    for part in parts(message)? {
        match part {
            (1, Value::Bytes(bytes)) => meta = bytes,
            (2, Value::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for part in parts(meta)? {
        match part {
            (1, Value::Bytes(bytes)) => api_version = text(bytes)?,
            (2, Value::Bytes(bytes)) => kind = text(bytes)?,
            _ => {}
        }
    }
    let mut object = match schema::kind(&api_version, &kind) {
        Some(id) => message_of(raw, id)?,
        // Whoever reads it on says that there is no such kind.
        None => json!({}),
    };
    for (name, said) in [("apiVersion", api_version), ("kind", kind)] {
        if !said.is_empty() {
            json::set(&mut object, &[name], said);
        }
    }
    Ok(object)
}

/// What a field holds on the wire.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, by their numbers.
fn parts(mut message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, String> {
    let mut all = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let number = u32::try_from(tag >> 3).map_err(|_| "proto: illegal tag".to_owned())?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut message)?),
            1 => Value::Number(fixed(&mut message, 8)?),
            5 => Value::Number(fixed(&mut message, 4)?),
            2 => {
                let length = usize::try_from(varint(&mut message)?).unwrap_or(usize::MAX);
                Value::Bytes(take(&mut message, length)?)
            }
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        all.push((number, value));
    }
    Ok(all)
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let split = message.split_at_checked(length);
    let (taken, rest) = split.ok_or("unexpected EOF")?;
    *message = rest;
    Ok(taken)
}

fn fixed(message: &mut &[u8], length: usize) -> Result<u64, String> {
    let bytes = take(message, length)?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn varint(message: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = *take(message, 1)? else {
            return Err("unexpected EOF".to_owned());
        };
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("proto: integer overflow".to_owned())
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a string is not UTF-8".to_owned())
}

/// The object that a message of this type says.
fn message_of(message: &[u8], id: StructId) -> Result<Json, String> {
    let mut out = Map::new();
    read(message, id, &[], &mut out)?;
    Ok(Json::Object(out))
}

/// The fields of a message, or of one in it that stands for what is embedded at `within`.
fn read(message: &[u8], id: StructId, within: &[u32], out: &mut Map) -> Result<(), String> {
    let fields = &schema::of(id).fields;
    for (number, value) in parts(message)? {
        let here = [within, &[number]].concat();
        if let Some(field) = fields.iter().find(|field| field.numbers == here) {
            add(field, value, out)?;
        } else if fields.iter().any(|field| field.numbers.starts_with(&here))
            && let Value::Bytes(inner) = value
        {
            read(inner, id, &here, out)?;
        }
    }
    Ok(())
}

/// One value of a field: lists and maps come in parts.
fn add(field: &Field, value: Value<'_>, out: &mut Map) -> Result<(), String> {
    let is_list = |ty: &Type| matches!(ty.shape, Shape::List(_)) && ty.go.starts_with("[]");
    match &field.ty.shape {
        Shape::List(inner) if is_list(&field.ty) => {
            let list = out.entry(field.name).or_insert_with(|| json!([]));
            let list = list.as_array_mut().expect("it is made as one");
            list.extend(elements(inner, value)?);
        }
        Shape::Map(inner) => {
            let (key, value) = entry(inner, value)?;
            let map = out.entry(field.name).or_insert_with(|| json!({}));
            map.as_object_mut()
                .expect("it is made as one")
                .insert(key, value);
        }
        _ => {
            let value = of_type(&field.ty, value)?;
            // Types write zeros, too, which JSON leaves out.
            let is_zero = match &value {
                Json::String(text) => text.is_empty(),
                Json::Bool(is_on) => !is_on,
                Json::Number(number) => number.as_f64() == Some(0.0),
                Json::Null => true,
                _ => false,
            };
            let is_pointer = matches!(field.ty.shape, Shape::Pointer(_));
            if !is_zero || is_pointer || !field.omit_empty {
                out.insert(field.name.to_owned(), value);
            }
        }
    }
    Ok(())
}

/// An element of a list; numbers may come packed.
fn elements(ty: &Type, value: Value<'_>) -> Result<Vec<Json>, String> {
    let is_number = matches!(ty.shape, Shape::Int32 | Shape::Int64 | Shape::Bool);
    match value {
        Value::Bytes(mut packed) if is_number => {
            let mut all = Vec::new();
            while !packed.is_empty() {
                all.push(of_type(ty, Value::Number(varint(&mut packed)?))?);
            }
            Ok(all)
        }
        value => Ok(vec![of_type(ty, value)?]),
    }
}

/// An entry of a map: a message of a key and a value.
fn entry(ty: &Type, value: Value<'_>) -> Result<(String, Json), String> {
    let Value::Bytes(message) = value else {
        return Err("proto: wrong wireType".to_owned());
    };
    let (mut key, mut found) = (String::new(), None);
    for part in parts(message)? {
        match part {
            (1, Value::Bytes(bytes)) => key = text(bytes)?,
            (2, value) => found = Some(of_type(ty, value)?),
            _ => {}
        }
    }
    let zero = || super::typed::zero(ty, None);
    Ok((key, found.unwrap_or_else(zero)))
}

fn of_type(ty: &Type, value: Value<'_>) -> Result<Json, String> {
    let wrong = || Err("proto: wrong wireType".to_owned());
    Ok(match (&ty.shape, value) {
        (Shape::Pointer(of), value) => of_type(of, value)?,
        (Shape::String, Value::Bytes(bytes)) => text(bytes)?.into(),
        (Shape::Bytes, Value::Bytes(bytes)) => base64::encode(bytes).into(),
        (Shape::Bool, Value::Number(number)) => (number != 0).into(),
        (Shape::Int32, Value::Number(number)) => (number as i32).into(),
        (Shape::Int64, Value::Number(number)) => (number as i64).into(),
        (Shape::Float64, Value::Number(number)) => f64::from_bits(number).into(),
        (Shape::Time, Value::Bytes(message)) => match instant(message)? {
            Some(stamp) => stamp.seconds().into(),
            None => Json::Null,
        },
        (Shape::MicroTime, Value::Bytes(message)) => match instant(message)? {
            Some(stamp) => stamp.micros().into(),
            None => Json::Null,
        },
        (Shape::IntOrString, Value::Bytes(message)) => int_or_string(message)?,
        (Shape::Quantity, Value::Bytes(message)) => match first(message)? {
            Some(Value::Bytes(bytes)) => text(bytes)?.into(),
            _ => "0".into(),
        },
        (Shape::Raw, Value::Bytes(message)) => match first(message)? {
            Some(Value::Bytes(raw)) if !raw.is_empty() => super::json(raw)?,
            _ => Json::Null,
        },
        (Shape::Struct(id), Value::Bytes(message)) => message_of(message, *id)?,
        // A named list, or a list in a list, is a message of its items.
        (Shape::List(of), Value::Bytes(message)) => {
            let mut all = Vec::new();
            for (_, value) in parts(message)? {
                all.extend(elements(of, value)?);
            }
            all.into()
        }
        _ => return wrong(),
    })
}

/// The first field of a message.
fn first(message: &[u8]) -> Result<Option<Value<'_>>, String> {
    let mut all = parts(message)?.into_iter();
    Ok(all.find(|(number, _)| *number == 1).map(|(_, value)| value))
}

/// Seconds and nanoseconds (`metav1.Timestamp`); nothing is no time at all.
fn instant(message: &[u8]) -> Result<Option<Stamp>, String> {
    let (mut seconds, mut nanos) = (0, 0);
    for part in parts(message)? {
        match part {
            (1, Value::Number(number)) => seconds = number as i64,
            (2, Value::Number(number)) => nanos = number as i32,
            _ => {}
        }
    }
    match message.is_empty() {
        true => Ok(None),
        false => Ok(Stamp::at(seconds, nanos)),
    }
}

fn int_or_string(message: &[u8]) -> Result<Json, String> {
    let (mut is_string, mut number, mut string) = (false, 0, String::new());
    for part in parts(message)? {
        match part {
            (1, Value::Number(kind)) => is_string = kind == 1,
            (2, Value::Number(value)) => number = value as i32,
            (3, Value::Bytes(bytes)) => string = text(bytes)?,
            _ => {}
        }
    }
    Ok(match is_string {
        true => string.into(),
        false => number.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Method;

    /// A field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).expect("short");
        assert!(length < 0x80, "short");
        // From 16 on a number takes two bytes.
        let tag = match number < 16 {
            true => vec![number << 3 | 2],
            false => vec![0x80 | (number << 3 & 0x7f) | 2, number >> 4],
        };
        [&tag[..], &[length], bytes].concat()
    }

    fn number(number: u8, value: u8) -> Vec<u8> {
        vec![number << 3, value]
    }

    fn sent(api_version: &str, kind: &str, object: &[u8]) -> Result<Json, Status> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        let body = [PREFIX, &field(1, &meta), &field(2, object)].concat();
        let mut request = Request::new(Method::Post, "/");
        request.content_type = Some("application/vnd.kubernetes.protobuf;x=y".into());
        request.body = Body::Bytes(body.into());
        let read = as_json(&request)?.expect("it is protobuf");
        assert_eq!(read.content_type.as_deref(), Some("application/json"));
        Ok(super::super::json(bytes(&read.body)).expect("JSON"))
    }

    #[test]
    fn an_object_is_what_its_fields_say() {
        let port = [
            field(2, b"TCP"),
            number(3, 80),
            field(4, &[number(1, 1), number(2, 0), field(3, b"http")].concat()),
            number(5, 0),
        ];
        let spec = [
            field(1, &port.concat()),
            field(2, &[field(1, b"app"), field(2, b"web")].concat()),
            field(3, b""),
            field(19, b"IPv4"),
        ];
        // The instant of the creation is none.
        let metadata = [field(1, b"web"), field(8, b""), number(7, 0)];
        let service = [field(1, &metadata.concat()), field(2, &spec.concat())];
        assert_eq!(
            sent("v1", "Service", &service.concat()),
            Ok(json!({
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "web"},
                "spec": {
                    "ports": [{"protocol": "TCP", "port": 80, "targetPort": "http"}],
                    "selector": {"app": "web"},
                    "ipFamilies": ["IPv4"],
                },
            }))
        );
    }

    #[test]
    fn what_is_embedded_lies_in_a_message_of_its_own() {
        let source = field(1, &field(1, b"/var"));
        let volume = [field(1, b"v"), field(2, &source)];
        let spec = field(1, &volume.concat());
        let pod = sent("v1", "Pod", &field(2, &spec)).expect("a pod");
        let volumes = json!([{"name": "v", "hostPath": {"path": "/var"}}]);
        assert_eq!(pod["spec"]["volumes"], volumes);
    }

    #[test]
    fn instants_quantities_bytes_and_named_lists_are_read() {
        let seconds = [1 << 3, 0x80, 0xf2, 0xd6, 0xca, 0x06];
        let meta = [field(1, b"s"), field(8, &seconds)].concat();
        let data = [field(1, b"k"), field(2, b"v")].concat();
        let secret = [field(1, &meta), field(2, &data)].concat();
        let secret = sent("v1", "Secret", &secret).expect("a secret");
        assert_eq!(secret["data"], json!({"k": "dg=="}));
        assert_eq!(
            secret["metadata"]["creationTimestamp"],
            "2026-01-01T00:00:00Z"
        );
        let hard = [field(1, b"cpu"), field(2, &field(1, b"1500m"))].concat();
        let quota = field(2, &field(1, &hard));
        let quota = sent("v1", "ResourceQuota", &quota).expect("a quota");
        assert_eq!(quota["spec"]["hard"], json!({"cpu": "1500m"}));
        let extra = [
            field(1, b"scopes"),
            field(2, &[field(1, b"a"), field(1, b"b")].concat()),
        ];
        let review = field(2, &field(5, &extra.concat()));
        let review = sent("authorization.k8s.io/v1", "SubjectAccessReview", &review);
        let review = review.expect("a review");
        assert_eq!(review["spec"]["extra"], json!({"scopes": ["a", "b"]}));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |body: &[u8]| {
            let mut request = Request::new(Method::Post, "/");
            request.content_type = Some("application/vnd.kubernetes.protobuf".into());
            request.body = Body::Bytes(body.into());
            as_json(&request)
                .map(|_| ())
                .expect_err("it says nothing")
                .code
        };
        assert_eq!(refused(b"{}"), 400);
        assert_eq!(refused(b"k8s\0\x0a\x7f"), 400);
        assert_eq!(refused(b"k8s\0\x0b"), 400);
        let odd = sent("example.com/v1", "Odd", b"").expect("somebody else looks");
        assert_eq!(odd, json!({"apiVersion": "example.com/v1", "kind": "Odd"}));
        let plain = Request::new(Method::Post, "/").with(json!({}));
        assert_eq!(as_json(&plain), Ok(None));
    }
}
