// SPDX-License-Identifier: BSD-3-Clause
// engine/keys.hpp: the keys of a job between hosts. Each rank publishes a public key in its card; from them
// all ranks agree on a secret that does not cross the network (crypto/agreement.hpp).
// In:  HERALD_SECURE, HERALD_KEY_FILE, the secret of our mpiexec; the cards of all ranks.
// Out: the key of the tags; for auth and encrypt the key and the cipher suite of the node.
// Without a cryptographic library, rank 0 publishes the key of the tags in clear and says so; a job that asks
// for more than that does not start.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "crypto/agreement.hpp"
#include "engine/config.hpp"

namespace herald::engine {

// The cipher that this processor is best at, of a job with one host. Null with `why`: there is no library.
const wire::CipherSuite* own_suite(std::string& why);
const char* suite_name(const wire::CipherSuite& suite) noexcept;

class KeyExchange {
 public:
  KeyExchange(boot::Boot& boot, const Knobs& knobs, std::uint32_t epoch)
      : boot_(boot), knobs_(knobs), epoch_(epoch), peers_(static_cast<std::size_t>(boot.size())) {}

  bool open(std::string& why);
  // Adds public key and MAC to our card; checks and removes those of a peer. False: it was altered.
  std::string wrap(const std::string& card) const;
  bool unwrap(int peer, std::string& card, std::string& why);
  // After all cards: collective.
  bool agree(NetStart& start, std::string& why);

 private:
  struct Peer {
    std::string pool, public_text;  // empty: it has no library
    bool aes = false;
  };
  bool read_secrets(std::string& why);
  bool agree_in_clear(NetStart& start, std::string& why);
  bool publish(const std::string& text, std::string& why);

  boot::Boot& boot_;
  const Knobs& knobs_;
  const std::uint32_t epoch_;
  const crypto::Library* library_ = nullptr;
  std::string no_library_;  // why there is none
  wire::JobKey job_key_{};  // of our mpiexec, or random
  bool job_key_given_ = false;
  std::string file_;  // content of the key file
  std::unique_ptr<crypto::Agreement> agreement_;
  std::vector<Peer> peers_;  // by rank, ourselves included
};

}  // namespace herald::engine
