/// \file
/// A script in the format of run.py, and the loop in which the oracles answer scripts: each line of
/// standard input is a script, and gets one line on standard output.
#pragma once

#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace oracle {

using words = std::vector<std::string>;

inline words split(const std::string& text, char separator) {
  words parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

struct script {
  std::string head;            // the first word, without its letter
  std::map<int, words> tasks;  // the parts between colons
  std::vector<words> phases;

  explicit script(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    head = word.substr(1);
    while (in >> word) {
      if (word == "|") {
        phases.emplace_back();
      } else if (phases.empty()) {
        const words parts = split(word.substr(1), ':');
        tasks.emplace(std::stoi(parts.at(0)), parts);
      } else {
        phases.back().push_back(word);
      }
    }
  }
};

/// The operations of a task: the last of its parts.
inline words operations(const words& parts) {
  return parts.back().empty() ? words{} : split(parts.back(), ',');
}

/// Runs a new `Oracle(script).run()` for each line. For main().
template <class Oracle>
int answer_all(const char* program) {
  try {
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << Oracle(script(line)).run() << std::endl;
    }
  } catch (const std::exception& e) {
    std::cerr << program << ": " << e.what() << '\n';
    return 1;
  }
  return 0;
}

}  // namespace oracle
