#include "web.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <new>
#include <utility>

#include <takt/takt.hpp>

namespace web {
namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using easy_handle = std::unique_ptr<CURL, freed_by<curl_easy_cleanup>>;
using multi_handle = std::unique_ptr<CURLM, freed_by<curl_multi_cleanup>>;
using url_handle = std::unique_ptr<CURLU, freed_by<curl_url_cleanup>>;
using text_handle = std::unique_ptr<char, freed_by<curl_free>>;

// Initialises libcurl before any thread uses it.
struct library {
  library() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  ~library() { curl_global_cleanup(); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
} const loaded;

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  return text_handle(text).get();
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool is_html_type(std::string type) {
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type.find("html") != std::string::npos;
}

// The part of an answer that was received so far.
struct incoming {
  page got;
  std::size_t max_bytes = 0;
};

std::size_t take_body(const char* bytes, std::size_t /*one*/, std::size_t count, void* to) {
  incoming& in = *static_cast<incoming*>(to);
  const std::size_t room = in.max_bytes - in.got.body.size();
  try {
    in.got.body.append(bytes, std::min(room, count));
  } catch (const std::bad_alloc&) {
    return 0;  // exceptions must not pass through C; libcurl fails the transfer
  }
  if (count <= room) return count;
  in.got.is_whole = false;
  return 0;  // ends the transfer
}

void require(CURLMcode code) {
  if (code != CURLM_OK) throw no_answer(curl_multi_strerror(code));
}

// A transfer in progress.
class transfer {
 public:
  transfer(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) {
    require(curl_multi_add_handle(multi_, easy_));
  }
  ~transfer() { curl_multi_remove_handle(multi_, easy_); }
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

 private:
  CURLM* multi_;
  CURL* easy_;
};

// &amp; is the only character reference that is common in addresses.
std::string without_references(std::string_view text) {
  constexpr std::string_view reference = "&amp;";
  std::string plain;
  plain.reserve(text.size());
  for (;;) {
    const std::size_t at = text.find(reference);
    plain += text.substr(0, at);
    if (at == std::string_view::npos) return plain;
    plain += '&';
    text.remove_prefix(at + reference.size());
  }
}

// Iterates over the attributes of a tag, from `at` to its end.
class attributes {
 public:
  attributes(std::string_view html, std::size_t at) : html_(html), at_(at) {}

  struct attribute {
    std::string_view name;
    std::string_view value;
  };
  std::optional<attribute> next() {
    while (at_ < html_.size() && (is_space(html_[at_]) || html_[at_] == '/')) ++at_;
    if (at_ >= html_.size() || html_[at_] == '>' || html_[at_] == '<') return std::nullopt;
    attribute found;
    found.name = until([](char c) { return is_space(c) || c == '=' || c == '>'; });
    if (found.name.empty()) ++at_;  // a '=' without a name
    skip_space();
    if (at_ >= html_.size() || html_[at_] != '=') return found;
    ++at_;
    skip_space();
    if (at_ >= html_.size()) return found;
    const char quote = html_[at_];
    if (quote == '"' || quote == '\'') {
      ++at_;
      found.value = until([quote](char c) { return c == quote; });
      if (at_ == html_.size()) return std::nullopt;  // the quote is not closed
      ++at_;
    } else {
      found.value = until([](char c) { return is_space(c) || c == '>'; });
    }
    return found;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  template <class Stop>
  std::string_view until(Stop stop) {
    const std::size_t from = at_;
    while (at_ < html_.size() && !stop(html_[at_])) ++at_;
    return html_.substr(from, at_ - from);
  }
  void skip_space() {
    while (at_ < html_.size() && is_space(html_[at_])) ++at_;
  }

  std::string_view html_;
  std::size_t at_;
};

// Performs one step of the normalisation of an address.
std::optional<std::string> closer_to_normal(const std::string& text, const std::string& base) {
  std::string trimmed = text;
  while (!trimmed.empty() && is_space(trimmed.back())) trimmed.pop_back();
  trimmed.erase(0, std::min(trimmed.find_first_not_of(" \t\r\n"), trimmed.size()));
  if (trimmed.empty() || trimmed.find('\0') != std::string::npos) return std::nullopt;
  const url_handle url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  if (!base.empty() && curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  if (curl_url_set(url.get(), CURLUPART_URL, trimmed.c_str(), CURLU_URLENCODE) != CURLUE_OK) {
    return std::nullopt;
  }
  const auto scheme = part(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return std::nullopt;
  auto host = part(url.get(), CURLUPART_HOST);
  if (!host || host->empty()) return std::nullopt;
  for (char& c : *host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  curl_url_set(url.get(), CURLUPART_HOST, host->c_str(), 0);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  return part(url.get(), CURLUPART_URL, CURLU_NO_DEFAULT_PORT);
}

}  // namespace

// libcurl decodes a host and parses numeric hosts in different steps: %30 becomes 0, which becomes
// 0.0.0.0 only in the next step. So the step repeats until nothing changes.
std::optional<std::string> normal_url(const std::string& text, const std::string& base) {
  constexpr int most = 4;
  std::optional<std::string> url = closer_to_normal(text, base);
  for (int i = 0; url && i < most; ++i) {
    std::optional<std::string> next = closer_to_normal(*url, {});
    if (next == url) return url;
    url = std::move(next);
  }
  return std::nullopt;
}

std::string host_of(const std::string& url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string::npos) return {};
  const std::size_t from = colon + 3;
  return url.substr(from, url.find_first_of("/?", from) - from);
}

void each_link(std::string_view html, const std::function<bool(const std::string&)>& take) {
  std::size_t at = 0;
  while ((at = html.find('<', at)) != std::string_view::npos) {
    ++at;
    if (html.substr(at, 3) == "!--") {
      at = html.find("-->", at);
      if (at == std::string_view::npos) break;
      continue;
    }
    const std::size_t name_from = at;
    while (at < html.size() && std::isalnum(static_cast<unsigned char>(html[at])) != 0) ++at;
    const std::string_view name = html.substr(name_from, at - name_from);
    const bool is_link = equals_ignoring_case(name, "a") || equals_ignoring_case(name, "area");
    if (!is_link) continue;
    attributes all(html, at);
    while (const auto a = all.next()) {
      if (equals_ignoring_case(a->name, "href") && !a->value.empty()) {
        if (!take(without_references(a->value))) return;
      }
    }
    at = std::min(all.at(), html.size());
  }
}

page fetch(const std::string& url, const fetch_options& how, const std::stop_token& stop) {
  const easy_handle easy(curl_easy_init());
  const multi_handle multi(curl_multi_init());
  if (easy == nullptr || multi == nullptr) throw std::bad_alloc();
  incoming in{.got = {}, .max_bytes = how.max_bytes};
  CURL* const c = easy.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "takt-crawl");
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(how.timeout.count()));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &in);

  CURLcode result = CURLE_FAILED_INIT;  // until a message reports the result
  {
    const transfer under_way(multi.get(), c);
    const std::stop_callback on_stop(stop, [&] { curl_multi_wakeup(multi.get()); });
    int running = 1;
    while (running != 0) {
      if (stop.stop_requested()) throw takt::cancelled();
      require(curl_multi_perform(multi.get(), &running));
      if (running != 0) require(curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr));
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg == CURLMSG_DONE) result = message->data.result;
    }
  }
  if (result != CURLE_OK && in.got.is_whole) throw no_answer(curl_easy_strerror(result));
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &in.got.status);
  const char* type = nullptr;
  curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
  in.got.is_html = type != nullptr && is_html_type(type);
  const char* redirect = nullptr;
  curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) in.got.redirect = redirect;
  return std::move(in.got);
}

}  // namespace web
