/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_call.h: the calls of coll_data.h, in each of their forms. */
#ifndef HERALD_TESTS_COLL_CALL_H
#define HERALD_TESTS_COLL_CALL_H

/* Calls the collective in one of its forms. */
#define FORMS(form, c, name, Name, ...)                                         \
  ((form) == BLOCKING      ? MPI_##Name(__VA_ARGS__, (c)->comm)                 \
   : (form) == NONBLOCKING ? MPI_I##name(__VA_ARGS__, (c)->comm, &(c)->request) \
                           : MPI_##Name##_init(__VA_ARGS__, (c)->comm, MPI_INFO_NULL, &(c)->request))

static inline void coll_call(coll_t* c, int form) {
  const int mine = uses_in_place(c);
  const int* from = c->wide_send != NULL ? c->wide_send : c->send;
  int* recv = c->wide_send != NULL ? c->wide_recv : c->recv;
  const int* sdispls = c->wide_send != NULL ? c->wide_displs : c->sdispls;
  const int* rdispls = c->wide_send != NULL ? c->wide_displs + c->size : c->rdispls;
  const MPI_Datatype type = c->type;
  const MPI_Op sum = c->sum;
  const void* send = mine ? MPI_IN_PLACE : from;
  const int own = v_count(c, c->rank, 0);
  switch (c->op) {
    case BARRIER:
      if (form == BLOCKING) OK(MPI_Barrier(c->comm));
      if (form == NONBLOCKING) OK(MPI_Ibarrier(c->comm, &c->request));
      if (form == PERSISTENT) OK(MPI_Barrier_init(c->comm, MPI_INFO_NULL, &c->request));
      break;
    case BCAST: OK(FORMS(form, c, bcast, Bcast, recv, c->count, type, c->root)); break;
    case GATHER:
      OK(FORMS(form, c, gather, Gather, send, c->count, type, recv, c->count, type, c->root));
      break;
    case GATHERV:
      OK(FORMS(form, c, gatherv, Gatherv, send, own, type, recv, c->rcounts, rdispls, type, c->root));
      break;
    case SCATTER:
      OK(FORMS(form, c, scatter, Scatter, from, c->count, type, mine ? MPI_IN_PLACE : recv, c->count, type,
               c->root));
      break;
    case SCATTERV:
      OK(FORMS(form, c, scatterv, Scatterv, from, c->scounts, sdispls, type, mine ? MPI_IN_PLACE : recv,
               v_count(c, c->root, c->rank), type, c->root));
      break;
    case ALLGATHER:
      OK(FORMS(form, c, allgather, Allgather, send, c->count, type, recv, c->count, type));
      break;
    case ALLGATHERV:
      OK(FORMS(form, c, allgatherv, Allgatherv, send, own, type, recv, c->rcounts, rdispls, type));
      break;
    case ALLTOALL: OK(FORMS(form, c, alltoall, Alltoall, send, c->count, type, recv, c->count, type)); break;
    case ALLTOALLV:
      OK(FORMS(form, c, alltoallv, Alltoallv, send, c->scounts, sdispls, type, recv, c->rcounts, rdispls,
               type));
      break;
    case ALLTOALLW:
      OK(FORMS(form, c, alltoallw, Alltoallw, send, c->scounts, sdispls, c->stypes, recv, c->rcounts, rdispls,
               c->rtypes));
      break;
    case REDUCE: OK(FORMS(form, c, reduce, Reduce, send, recv, c->count, type, sum, c->root)); break;
    case ALLREDUCE: OK(FORMS(form, c, allreduce, Allreduce, send, recv, c->count, type, sum)); break;
    case REDUCE_SCATTER:
      OK(FORMS(form, c, reduce_scatter, Reduce_scatter, send, recv, c->rcounts, type, sum));
      break;
    case REDUCE_SCATTER_BLOCK:
      OK(FORMS(form, c, reduce_scatter_block, Reduce_scatter_block, send, recv, c->count, type, sum));
      break;
    case SCAN: OK(FORMS(form, c, scan, Scan, send, recv, c->count, type, sum)); break;
    case EXSCAN: OK(FORMS(form, c, exscan, Exscan, send, recv, c->count, type, sum)); break;
  }
}
#endif
