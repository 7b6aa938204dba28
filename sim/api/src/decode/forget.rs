//! What a release does not have: the fields of later ones. What a client has sent loses them where it is read (`typed`).

use wavetank_version::Version;

use crate::json::Json;
use crate::schema::{self, Shape, StructId};

/// Takes out what a release does not have: what the defaults of a newer one have brought.
pub(crate) fn forget(tree: &mut Json, id: StructId, release: Option<Version>) {
    if !schema::is_known_to(release) {
        forget_in(tree, &Shape::Struct(id), release);
    }
}

fn forget_in(tree: &mut Json, shape: &Shape, release: Option<Version>) {
    match (shape, tree) {
        (Shape::Struct(id), Json::Object(map)) => {
            for field in &schema::of(*id).fields {
                match map.get_mut(field.name) {
                    Some(value) if field.is_in(release) => {
                        forget_in(value, &field.ty.shape, release)
                    }
                    Some(_) => {
                        map.remove(field.name);
                    }
                    None => {}
                }
            }
        }
        (Shape::Pointer(inner), tree) => forget_in(tree, &inner.shape, release),
        (Shape::List(inner), Json::Array(items)) => {
            for item in items {
                forget_in(item, &inner.shape, release);
            }
        }
        (Shape::Map(inner), Json::Object(map)) => {
            for (_, value) in map.iter_mut() {
                forget_in(value, &inner.shape, release);
            }
        }
        _ => {}
    }
}
