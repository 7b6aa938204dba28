//! Writes the recorded requests into a folder, as inputs for the fuzzer: each by itself, and in eights as they
//! followed each other.

use std::path::PathBuf;

use serde_json::Value as Json;
use wavetank_oracle::corpus;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let to = std::env::args().nth(1).ok_or("wants the name of a folder")?;
    let to = PathBuf::from(to);
    std::fs::create_dir_all(&to)?;
    for file in corpus::bundled()? {
        let inputs: Vec<Vec<u8>> = file.lines.iter().filter_map(input).collect();
        for (number, input) in inputs.iter().enumerate() {
            std::fs::write(to.join(format!("{}-{number}", file.name)), input)?;
        }
        for (number, inputs) in inputs.chunks(8).enumerate() {
            let name = format!("{}-eight-{number}", file.name);
            std::fs::write(to.join(name), inputs.join(&0x1e))?;
        }
    }
    Ok(())
}

/// A recorded request as an input; `None` if the line is something else.
fn input(line: &Json) -> Option<Vec<u8>> {
    let request = line.get("request")?;
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    if request["verb"] == "watch" {
        return None;
    }
    let body = match &request["body"] {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        tree => tree.to_string(),
    };
    let mut pairs = Vec::new();
    for (name, values) in request["query"].as_object().into_iter().flatten() {
        let values = values.as_array().cloned().unwrap_or_else(|| vec![values.clone()]);
        pairs.extend(values.iter().map(|value| format!("{name}={}", plain(value))));
    }
    let target = format!("{}?{}", text("path"), pairs.join("&"));
    let line = format!("{} {target} {}\n", text("method"), text("contentType"));
    Some([line.as_bytes(), body.as_bytes()].concat())
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
