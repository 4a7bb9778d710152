// Small concurrent programs with a planted bug, each with a correct twin.
//
// They validate the model checker: it must find every bug, and must not report any twin.
#pragma once

#include <ostream>
#include <string>
#include <vector>

struct planted_bug {
  std::string name;
  void (*bug)();
  void (*twin)();
  bool by_search;  // the exhaustive search also finds it
  friend std::ostream& operator<<(std::ostream& out, const planted_bug& b) { return out << b.name; }
};

const std::vector<planted_bug>& planted_bugs();
