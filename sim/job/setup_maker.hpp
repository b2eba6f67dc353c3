// SPDX-License-Identifier: BSD-3-Clause
// sim/job/setup_maker.hpp: what all makers of setups share: chance, the plan of what happens, and the
// troubles that they have in common. The order in which chance is asked is what a seed means.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>

#include "sim/job/job.hpp"

namespace herald::sim {

class SetupMaker {
 protected:
  SetupMaker(std::uint64_t seed, std::uint64_t stream, Setup& setup);

  template <class T>
  T one_of(std::initializer_list<T> items) {
    return *(items.begin() + chance_.below(items.size()));
  }
  HostId some_host() {
    return static_cast<HostId>(chance_.below(static_cast<std::uint64_t>(setup_.net.hosts)));
  }
  Instant some_time();  // while the job is likely to be under way
  void plan(Instant at, std::string what, std::function<void(Net&)> run);

  // Losses in rows; wrong bits, cut ends, strangers' bytes; all of it, a little.
  void burst();
  void spoil();
  void storm();
  void some_loss();     // troubles seldom come alone
  void end_faults();    // faults that every setup has, and the sum of losses
  void pauses();        // hosts that stop for a while
  void preemptions();   // processors that hosts share are taken away
  void death();         // of a host
  void replays();       // packets that are delivered again for seconds
  void cable();         // a host's cables are out and in again, six times
  void flaps();         // for 0.1 to 2 s each, while the job works all the time
  void narrow_port();   // a port drops long datagrams, from the start or from some time on
  void links();         // of several links, one dies or is out and in again
  void key_and_size();  // of the datagrams

  Prng chance_;
  Setup& setup_;
  double loss_ = 0;    // expected share of datagrams, in all
  Duration likely_{};  // how long the job takes if nothing goes wrong
};

}  // namespace herald::sim
