# Short forms of the daily commands; nothing needs them.

# The main job: a storm over the HA control plane, with every known problem mended.
storm *args:
    cargo run -- run kubernetes-endpoints --fixed --seeds 0..1000 {{args}}

test *args:
    cargo test {{args}}

# What CI runs for each change, and each night.
ci:
    .ci/run

nightly:
    .ci/nightly

bench *args:
    cargo bench --bench speed -- {{args}}

# The model checker beside stateright's Paxos, and what its reduction saves.
bench-search *args:
    cargo bench --bench search -- {{args}}

# Each storm and each scope, to be kept (`--keep FILE`) and compared (`--against FILE`).
bench-table *args:
    cargo bench --bench table -- {{args}}

# Adds the trace of a failure to those that tests replay.
keep trace:
    cargo run -- keep {{trace}}

# The search against a naive one, over random worlds, and whether that would notice a mistake.
soundness *args:
    cargo run --release -- soundness {{args}}
    cargo test -p wavetank-models --features mutants --test mutants

# Does a storm, a scope or a transcript notice each change to the algorithms? (docs/MUTANTS.md)
mutants *args:
    cargo run --release -- mutants {{args}}

schema:
    cargo run -- schema > scenarios/scenario.schema.json

# Every bundled scope, searched completely, with every known problem mended.
check *args:
    cargo run --release -- check --all --fixed {{args}}
