// SPDX-License-Identifier: BSD-3-Clause
// sim/job/model_cipher.hpp: a model of authenticated encryption, made of SipHash: texts become unreadable and
// altered ones are refused, which is all that the protocol sees. It protects nothing.
#pragma once
#include "wire/cipher.hpp"
#include "wire/datagram.hpp"

namespace herald::sim {

const wire::CipherSuite& model_suite() noexcept;
wire::SecretKey model_key(const wire::JobKey& key) noexcept;

}  // namespace herald::sim
