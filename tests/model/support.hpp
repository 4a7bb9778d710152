// How tests use the model checker: check() for code that has to be right, find() for planted bugs.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include <takt/model/explore.hpp>

// Explores `body` and fails the test, with a replay token, if a run fails or an exhaustive search
// does not come to its end. TAKT_MODEL_RUNS, TAKT_MODEL_SEED and TAKT_MODEL_TOKEN change what is
// explored; see CONTRIBUTING.md.
takt::model::result check(takt::model::options opts, const std::function<void()>& body);

// Explores `body` as given, whatever the environment says, and returns what was found.
[[nodiscard]] takt::model::result find(const takt::model::options& opts,
                                       const std::function<void()>& body);
