// SPDX-License-Identifier: BSD-3-Clause
// crypto/agreement.hpp: how all ranks of a job get one secret that a reader of the launcher's traffic does
// not learn: X25519 between ranks that are neighbors in a tree, and two exchanges of texts.
// In:  random bytes; a secret that the ranks have in common, or none; the texts of other ranks, not trusted.
// Out: the text that each rank publishes, twice; the secret.
//
//   1. Each rank publishes a public key, under a MAC of the common secret.
//   2. Each rank p with children publishes its node secret, encrypted for each child, and, encrypted under
//      that node secret, the key that it shares with its own parent.
//   3. A rank decrypts the node secret of its parent, then of its parent's parent, up to that of rank 0.
//
// A rank agrees with 9 others at most, and decrypts a text for each level of the tree, however large the
// job. An attacker without the common secret cannot replace a public key. Without common secret, an
// attacker that alters what the launcher transmits can take part; one that only reads it learns nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "crypto/library.hpp"

namespace herald::crypto {

constexpr int kChildren = 8;  // of a node in the tree

class Agreement {
 public:
  struct Place {
    int rank = 0, size = 1;
    std::uint32_t epoch = 0;  // counts the agreements of the job
  };
  struct Secrets {
    SecretKey own, node;  // random
    SecretKey common{};   // of all ranks; 0: none
  };

  Agreement(const Library& library, const Place& place, const Secrets& secrets) noexcept
      : library_(library), place_(place), secrets_(secrets), own_(library.private_key(secrets.own)) {}
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // The first text: the public key; empty if the library fails. Others pass it to add().
  std::string public_text() const;
  // A MAC of a text that a rank publishes; compare with equal().
  std::string sign(int rank, std::string_view text) const;
  // False if the text is no public key. Those of ranks that are not our neighbors are not looked at.
  bool add(int rank, std::string_view text);

  // The second text; empty: nothing to publish. Ranks without children have none.
  std::string node_text() const;
  // Gets the second texts of our ancestors, and from them the secret of the job. False: one is missing, or
  // was not made by a rank that has the common secret.
  using Get = std::function<bool(int rank, std::string& text)>;
  bool finish(const Get& get, SecretKey& job) const;

 private:
  SecretKey key_between(int parent, int child, const SecretKey& shared) const;
  bool open(const SecretKey& key, std::string_view sealed, SecretKey& text) const;
  std::string seal(const SecretKey& key, const SecretKey& text) const;

  const Library& library_;
  const Place place_;
  Secrets secrets_;
  const Library::PrivateKey own_;
  std::map<int, SecretKey> keys_;  // by neighbor: between it and us
};

bool equal(std::string_view a, std::string_view b) noexcept;  // in constant time

}  // namespace herald::crypto
