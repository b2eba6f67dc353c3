// SPDX-License-Identifier: BSD-3-Clause
#include "engine/keys.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "crypto/hex.hpp"
#include "engine/key_file.hpp"
#include "path/random.hpp"

namespace herald::engine {
namespace {

constexpr std::size_t kPoolLetters = 32;

crypto::SecretKey random_key() noexcept {
  crypto::SecretKey key;
  for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = path::random_number();
    std::memcpy(key.data() + at, &word, sizeof word);
  }
  return key;
}

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string write_key(const wire::JobKey& key) {
  char text[kPoolLetters + 1];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(key[0]),
                static_cast<unsigned long long>(key[1]));
  return text;
}

bool read_key(const std::string& text, wire::JobKey& key) {
  if (text.size() != kPoolLetters || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  key = {std::stoull(text.substr(0, 16), nullptr, 16), std::stoull(text.substr(16), nullptr, 16)};
  return true;
}

wire::JobKey tag_key_of(const crypto::Library& library, const crypto::SecretKey& job) noexcept {
  const crypto::SecretKey all = library.derive(job, bytes_of("herald tag"));
  wire::JobKey key;
  std::memcpy(key.data(), all.data(), sizeof key);
  return key;
}

// Multicast addresses follow from this number, which others may know.
wire::JobKey pool_of(const wire::JobKey& key) noexcept {
  return {wire::siphash24(key, bytes_of("herald pool 0")), wire::siphash24(key, bytes_of("herald pool 1"))};
}

std::string take_word(std::string& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string word = text.substr(0, at);
  text.erase(0, std::min(at + 1, text.size()));
  return word;
}

const wire::CipherSuite& suite_of(const crypto::Library& library, bool aes) {
  static const crypto::Suite suites[] = {{library, crypto::Aead::chacha20_poly1305},
                                         {library, crypto::Aead::aes_128_gcm}};
  return suites[aes ? 1 : 0];
}

}  // namespace

const wire::CipherSuite* own_suite(std::string& why) {
  const crypto::Library* const library = crypto::Library::load(why);
  return library != nullptr ? &suite_of(*library, crypto::has_aes_instructions()) : nullptr;
}

const char* suite_name(const wire::CipherSuite& suite) noexcept {
  std::string why;
  const crypto::Library* const library = crypto::Library::load(why);
  return library != nullptr && &suite == &suite_of(*library, true) ? "-aes" : "-chacha";
}

bool KeyExchange::read_secrets(std::string& why) {
  const char* const given = std::getenv("HERALD_JOB_KEY");
  job_key_given_ = given != nullptr && read_key(given, job_key_);
  if (!job_key_given_) job_key_ = {path::random_number(), path::random_number()};
  return knobs_.key_file.empty() || read_key_file(knobs_.key_file, file_, why);
}

bool KeyExchange::open(std::string& why) {
  if (!read_secrets(why)) return false;
  Peer& own = peers_[static_cast<std::size_t>(boot_.rank())];
  own.pool = write_key(pool_of(job_key_));
  library_ = crypto::Library::load(no_library_);
  if (library_ == nullptr) return true;
  crypto::Agreement::Secrets secrets{random_key(), random_key()};
  if (job_key_given_) secrets.common = library_->mac(secrets.common, bytes_of(write_key(job_key_)));
  if (!file_.empty()) secrets.common = library_->mac(secrets.common, bytes_of(file_));
  const crypto::Agreement::Place place{boot_.rank(), boot_.size(), epoch_};
  agreement_ = std::make_unique<crypto::Agreement>(*library_, place, secrets);
  own.public_text = agreement_->public_text();
  own.aes = crypto::has_aes_instructions();
  if (!own.public_text.empty()) return true;
  no_library_ = "libcrypto does not have X25519";
  library_ = nullptr;
  return true;
}

// MAC, a line; pool, processor, public key, a line; the card.
std::string KeyExchange::wrap(const std::string& card) const {
  const Peer& own = peers_[static_cast<std::size_t>(boot_.rank())];
  if (library_ == nullptr) return "-\n" + own.pool + " - -\n" + card;
  const std::string text = own.pool + (own.aes ? " aes " : " - ") + own.public_text + "\n" + card;
  return agreement_->sign(boot_.rank(), text) + "\n" + text;
}

bool KeyExchange::unwrap(int peer, std::string& card, std::string& why) {
  const std::string mac = take_word(card, '\n');
  if (library_ != nullptr && mac != "-" && !crypto::equal(mac, agreement_->sign(peer, card))) {
    why = "the card of rank " + std::to_string(peer) + " was altered, or that rank does not have the same " +
          (file_.empty() ? "HERALD_JOB_KEY: start all ranks with one mpiexec"
                         : "HERALD_KEY_FILE: all ranks need a file with the same content");
    return false;
  }
  std::string line = take_word(card, '\n');
  Peer& one = peers_[static_cast<std::size_t>(peer)];
  one.pool = take_word(line, ' ');
  one.aes = take_word(line, ' ') == "aes";
  one.public_text = mac == "-" ? "" : line;
  wire::JobKey pool{};
  if (read_key(one.pool, pool) &&
      (library_ == nullptr || one.public_text.empty() || agreement_->add(peer, one.public_text)))
    return true;
  why =
      "the card of rank " + std::to_string(peer) + " has no valid key: all ranks must load the same library";
  return false;
}

bool KeyExchange::publish(const std::string& text, std::string& why) {
  const std::string name = "herald-keys-" + std::to_string(epoch_ + 1);
  if ((text.empty() || boot_.put(name, text) == Status::ok) && boot_.fence() == Status::ok) return true;
  why = "the ranks could not exchange their keys: " + boot_.last_error();
  return false;
}

bool KeyExchange::agree(NetStart& start, std::string& why) {
  wire::JobKey pool{};
  (void)read_key(peers_[0].pool, pool);
  start.pool_key = pool;
  const bool all =
      std::none_of(peers_.begin(), peers_.end(), [](const Peer& one) { return one.public_text.empty(); });
  if (!all || library_ == nullptr) return agree_in_clear(start, why);
  if (!publish(agreement_->node_text(), why)) return false;
  crypto::SecretKey job{};
  const auto get = [this](int rank, std::string& text) {
    return boot_.get(rank, "herald-keys-" + std::to_string(epoch_ + 1), text) == Status::ok;
  };
  if (!agreement_->finish(get, job)) {
    why = "the ranks could not agree on a key: what they published through the launcher was altered";
    return false;
  }
  start.key = tag_key_of(*library_, job);
  const bool aes = std::all_of(peers_.begin(), peers_.end(), [](const Peer& one) { return one.aes; });
  start.suite = &suite_of(*library_, aes);
  start.job_secret = job;
  agreement_.reset();
  return true;
}

// All ranks see the same cards, so all of them come here, or none.
bool KeyExchange::agree_in_clear(NetStart& start, std::string& why) {
  std::size_t without = 0;
  while (without + 1 < peers_.size() && !peers_[without].public_text.empty()) ++without;
  const std::string who = "rank " + std::to_string(without);
  const std::string cure = no_library_.empty() ? "install libcrypto there" : no_library_;
  if (knobs_.secure != "tag" || !file_.empty()) {
    why = (file_.empty() ? "HERALD_SECURE=" + knobs_.secure : std::string("HERALD_KEY_FILE")) +
          " needs a cryptographic library on each host, and " + who + " finds none: " + cure;
    return false;
  }
  // Ranks of our mpiexec have the key: it need not be published.
  const std::string& own = peers_[static_cast<std::size_t>(boot_.rank())].pool;
  const bool alike =
      std::all_of(peers_.begin(), peers_.end(), [&](const Peer& one) { return one.pool == own; });
  if (alike) {
    start.key = job_key_;
    return publish("", why);
  }
  if (job_key_given_) {
    why = "not all ranks have the HERALD_JOB_KEY of mpiexec: start all ranks with one mpiexec, or unset it";
    return false;
  }
  if (boot_.rank() == 0)
    std::fprintf(stderr,
                 "herald: %s finds no cryptographic library (%s): a reader of the launcher's network traffic "
                 "can read the key of this job and forge its packets\n",
                 who.c_str(), cure.c_str());
  if (!publish(boot_.rank() == 0 ? write_key(job_key_) : "", why)) return false;
  std::string text = write_key(job_key_);
  const bool got =
      boot_.rank() == 0 || boot_.get(0, "herald-keys-" + std::to_string(epoch_ + 1), text) == Status::ok;
  if (got && read_key(text, start.key)) return true;
  why = "rank 0 published no key";
  return false;
}

}  // namespace herald::engine
