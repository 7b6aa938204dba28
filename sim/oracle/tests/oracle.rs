//! The simulated kube-apiserver against the recorded transcripts that come with the sources.

use wavetank_oracle::{Score, corpus, replay};

#[test]
fn print_scores() {
    let files = corpus::read(&corpus::bundled()).expect("the corpus");
    let only = std::env::var("ONLY").unwrap_or_default();
    let files = files
        .iter()
        .filter(|file| file.name.contains(&only))
        .filter_map(|file| replay(file).ok());
    let score = Score {
        files: files.collect(),
        verbose: std::env::var("VERBOSE").is_ok(),
    };
    println!("{score}");
}
