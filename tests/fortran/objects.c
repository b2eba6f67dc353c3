/* SPDX-License-Identifier: BSD-3-Clause */
/* The C half of objects.f90: each function uses a handle of Fortran, make_objects makes one of each kind. */
#include <mpi.h>
#include <string.h>

enum { kComm, kDatatype, kErrhandler, kFile, kGroup, kInfo, kMessage, kOp, kRequest, kSession, kWin, kKinds };

static int cell;

int comm_in_c(MPI_Fint handle) {
  int size = -1;
  MPI_Comm_size(MPI_Comm_f2c(handle), &size);
  return size;
}
int type_in_c(MPI_Fint handle) {
  int size = -1;
  MPI_Type_size(MPI_Type_f2c(handle), &size);
  return size;
}
int errhandler_in_c(MPI_Fint handle) {
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_Errhandler_f2c(handle));
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &got);
  const int same = MPI_Errhandler_c2f(got) == handle;
  MPI_Errhandler_free(&got);
  return same;
}
int file_in_c(MPI_Fint handle) {
  int mode = -1;
  MPI_File_get_amode(MPI_File_f2c(handle), &mode);
  return mode;
}
int group_in_c(MPI_Fint handle) {
  int size = -1;
  MPI_Group_size(MPI_Group_f2c(handle), &size);
  return size;
}
int info_in_c(MPI_Fint handle) {
  char value[8] = "";
  int length = sizeof value;
  int found = 0;
  MPI_Info_get_string(MPI_Info_f2c(handle), "key", &length, value, &found);
  return found && strcmp(value, "value") == 0;
}
int message_in_c(MPI_Fint* handle) {
  MPI_Message message = MPI_Message_f2c(*handle);
  int got = -1;
  MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  *handle = MPI_Message_c2f(message);
  return got;
}
int op_in_c(MPI_Fint handle) {
  const int values[2] = {3, 4};
  int result = values[1];
  MPI_Reduce_local(values, &result, 1, MPI_INT, MPI_Op_f2c(handle));
  return result;
}
int request_in_c(MPI_Fint* handle) {
  MPI_Request request = MPI_Request_f2c(*handle);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  *handle = MPI_Request_c2f(request);
  return code;
}
int session_in_c(MPI_Fint handle) {
  int sets = -1;
  MPI_Session_get_num_psets(MPI_Session_f2c(handle), MPI_INFO_NULL, &sets);
  return sets;
}
int win_in_c(MPI_Fint handle) {
  MPI_Aint* size = NULL;
  int found = 0;
  MPI_Win_get_attr(MPI_Win_f2c(handle), MPI_WIN_SIZE, &size, &found);
  return found ? (int)*size : -1;
}

static void on_error(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }
static void maximum(void* in, void* inout, int* len, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *len; i++)
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

/* One object of each kind; the request and the message are of the integer 5 that this process sends to
 * itself. */
void make_objects(const char* file_name, MPI_Fint handles[kKinds]) {
  static const int five = 5;
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Errhandler errhandler;
  MPI_File file;
  MPI_Group group;
  MPI_Info info;
  MPI_Message message;
  MPI_Op op;
  MPI_Request request;
  MPI_Session session;
  MPI_Win win;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_create_errhandler(on_error, &errhandler);
  MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Isend(&five, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &request);
  MPI_Mprobe(0, 8, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
  MPI_Op_create(maximum, 1, &op);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  handles[kComm] = MPI_Comm_c2f(comm);
  handles[kDatatype] = MPI_Type_c2f(type);
  handles[kErrhandler] = MPI_Errhandler_c2f(errhandler);
  handles[kFile] = MPI_File_c2f(file);
  handles[kGroup] = MPI_Group_c2f(group);
  handles[kInfo] = MPI_Info_c2f(info);
  handles[kMessage] = MPI_Message_c2f(message);
  handles[kOp] = MPI_Op_c2f(op);
  handles[kRequest] = MPI_Request_c2f(request);
  handles[kSession] = MPI_Session_c2f(session);
  handles[kWin] = MPI_Win_c2f(win);
}

void null_objects(MPI_Fint handles[kKinds]) {
  handles[kComm] = MPI_Comm_c2f(MPI_COMM_NULL);
  handles[kDatatype] = MPI_Type_c2f(MPI_DATATYPE_NULL);
  handles[kErrhandler] = MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL);
  handles[kFile] = MPI_File_c2f(MPI_FILE_NULL);
  handles[kGroup] = MPI_Group_c2f(MPI_GROUP_NULL);
  handles[kInfo] = MPI_Info_c2f(MPI_INFO_NULL);
  handles[kMessage] = MPI_Message_c2f(MPI_MESSAGE_NULL);
  handles[kOp] = MPI_Op_c2f(MPI_OP_NULL);
  handles[kRequest] = MPI_Request_c2f(MPI_REQUEST_NULL);
  handles[kSession] = MPI_Session_c2f(MPI_SESSION_NULL);
  handles[kWin] = MPI_Win_c2f(MPI_WIN_NULL);
}

/* Predefined handles are the same in both languages. */
int predefined_in_c(MPI_Fint comm, MPI_Fint type, MPI_Fint op, MPI_Fint errhandler, MPI_Fint group,
                    MPI_Fint message) {
  return MPI_Comm_f2c(comm) == MPI_COMM_WORLD && MPI_Type_f2c(type) == MPI_DOUBLE_PRECISION &&
         MPI_Op_f2c(op) == MPI_MAXLOC && MPI_Errhandler_f2c(errhandler) == MPI_ERRORS_ABORT &&
         MPI_Group_f2c(group) == MPI_GROUP_EMPTY && MPI_Message_f2c(message) == MPI_MESSAGE_NO_PROC;
}
