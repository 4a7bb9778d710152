// Small concurrent programs with a bug planted in them, each beside its correct twin.
//
// They are what the model checker is measured by: a checker that misses one is broken, and one
// that complains about a twin is, too.
#pragma once

#include <ostream>
#include <string>
#include <vector>

struct planted_bug {
  std::string name;
  void (*bug)();
  void (*twin)();
  bool by_search;  // the exhaustive search finds it, too
  friend std::ostream& operator<<(std::ostream& out, const planted_bug& b) { return out << b.name; }
};

const std::vector<planted_bug>& planted_bugs();
