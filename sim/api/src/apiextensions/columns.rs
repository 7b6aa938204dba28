//! The columns of tables that a definition says (`registry/customresource/tableconvertor`).

use serde_json::json;

use super::jsonpath::{JsonPath, print_results};
use crate::json::{self, Json};
use crate::printers;
use crate::times::Stamp;

/// The columns of one version, beside the name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Columns(Vec<Column>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Column {
    definition: Json,
    ty: String,
    path: JsonPath,
}

impl Columns {
    /// Upstream's `New`, of a version of a definition: one that says no columns has that of the age. What follows a path
    /// that cannot be read is left out.
    pub(super) fn of(version: &Json) -> Columns {
        // `serveDefaultColumnsIfEmpty`
        let age = json!([{
            "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        }]);
        let said = json::list(version, &["additionalPrinterColumns"]);
        let said = match said {
            [] => age.as_array().map(Vec::as_slice).unwrap_or_default(),
            said => said,
        };
        let column = |said: &Json| {
            let text = |field| json::text(said, &[field]);
            let path = JsonPath::parse(text("jsonPath")).ok()?;
            let description = match text("description") {
                "" => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    text("jsonPath")
                ),
                own => own.to_owned(),
            };
            let definition = json!({
                "name": text("name"),
                "type": text("type"),
                "format": text("format"),
                "description": description,
                "priority": json::number(said, &["priority"]).unwrap_or(0),
            });
            Some(Column {
                definition,
                ty: text("type").to_owned(),
                path,
            })
        };
        Columns(said.iter().map_while(column).collect())
    }

    /// Their definitions.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = Json> {
        self.0.iter().map(|column| column.definition.clone())
    }

    /// The cells of an object.
    pub(crate) fn cells(&self, object: &Json, now: Stamp) -> Vec<Json> {
        let name = json::text(object, &["metadata", "name"]);
        let mut cells = vec![name.into()];
        for column in &self.0 {
            let found = column.path.find_results(object).unwrap_or_default();
            cells.push(match found.first() {
                None => Json::Null,
                Some(value) if column.ty == "string" => print_results(value).into(),
                Some(value) => cell_for_json_value(&column.ty, value, now),
            });
        }
        cells
    }
}

/// `cellForJSONValue`
fn cell_for_json_value(ty: &str, value: &Json, now: Stamp) -> Json {
    match (ty, value) {
        ("integer", Json::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(part)) => (part as i64).into(),
            (None, None) => Json::Null,
        },
        ("number", Json::Number(_)) | ("boolean", Json::Bool(_)) => value.clone(),
        ("date", Json::String(instant)) => match instant.as_str() {
            "" | "null" => "<unknown>".into(),
            instant if Stamp::parse(instant).is_none() => "<invalid>".into(),
            instant => printers::translate_timestamp_since(instant, now).into(),
        },
        _ => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_type_of_its_column() {
        let column = |ty: &str, path: &str| json!({"name": path, "type": ty, "jsonPath": path});
        let version = json!({"additionalPrinterColumns": [
            column("integer", ".f"), column("number", ".f"), column("string", ".f"),
            column("boolean", ".f"), column("date", ".s"), column("date", ".t"), column("string", ".m"),
            column("integer", "["), column("integer", ".f"),
        ]});
        let columns = Columns::of(&version);
        let object = json!({
            "metadata": {"name": "x"}, "f": 1.5, "s": "soon", "t": "2026-01-01T00:00:00Z", "m": {"a": 1},
        });
        let now = Stamp::parse("2026-01-01T00:01:00Z").expect("an instant");
        let cells = columns.cells(&object, now);
        let expected = json!(["x", 1, 1.5, "1.5", null, "<invalid>", "60s", "{\"a\":1}"]);
        assert_eq!(Json::from(cells), expected);
        assert_eq!(columns.definitions().count(), 7);
        let plain = Columns::of(&json!({}));
        let names: Vec<Json> = plain.definitions().map(|of| of["name"].clone()).collect();
        assert_eq!(names, ["Age"]);
    }
}
