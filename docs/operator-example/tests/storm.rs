wavetank::seeds!(
    websites_are_kept,
    website_operator::command().fixed("websites.yaml"),
    0..20
);

wavetank::seeds!(
    websites_end_as_without_faults,
    website_operator::command().fixed("sieve.yaml"),
    0..5
);
