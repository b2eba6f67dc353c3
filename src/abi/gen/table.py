# SPDX-License-Identifier: BSD-3-Clause
"""Reads api.tbl and constants.tbl, and knows the C type of each parameter kind."""
from dataclasses import dataclass, field, replace

HANDLES = {
    "COMMUNICATOR": "MPI_Comm", "DATATYPE": "MPI_Datatype", "GROUP": "MPI_Group", "INFO": "MPI_Info",
    "ERRHANDLER": "MPI_Errhandler", "OPERATION": "MPI_Op", "REQUEST": "MPI_Request", "MESSAGE": "MPI_Message",
    "SESSION": "MPI_Session", "WINDOW": "MPI_Win", "FILE": "MPI_File",
}
OTHER = {
    "STATUS": "MPI_Status", "OFFSET": "MPI_Offset", "ALLOC_MEM_NUM_BYTES": "MPI_Aint", "DISPLACEMENT": "MPI_Aint",
    "DISPLACEMENT_NNI": "MPI_Aint", "WINDOW_SIZE": "MPI_Aint", "WIN_ATTACH_SIZE": "MPI_Aint",
    "RMA_DISPLACEMENT_NNI": "MPI_Aint", "LOCATION_SMALL": "MPI_Aint", "DISPOFFSET_SMALL": "MPI_Aint",
    "GENERIC_DTYPE_COUNT": "MPI_Count", "XFER_NUM_ELEM": "MPI_Count", "NUM_BYTES": "MPI_Count",
    "XFER_NUM_ELEM_NNI": "MPI_Count", "DROPPED_COUNT": "MPI_Count", "TOOLS_TICK_COUNT": "MPI_Count",
    "PARTITION": "int", "CVAR": "MPI_T_cvar_handle", "PVAR": "MPI_T_pvar_handle",
    "PVAR_SESSION": "MPI_T_pvar_session", "TOOLS_ENUM": "MPI_T_enum", "EVENT_INSTANCE": "MPI_T_event_instance",
    "EVENT_REGISTRATION": "MPI_T_event_registration", "CALLBACK_SAFETY": "MPI_T_cb_safety",
    "SOURCE_ORDERING": "MPI_T_source_order", "EVENT_CB_FUNCTION": "MPI_T_event_cb_function",
    "EVENT_DROP_CB_FUNCTION": "MPI_T_event_dropped_cb_function",
    "EVENT_FREE_CB_FUNCTION": "MPI_T_event_free_cb_function",
}
# Kinds that are untyped memory whatever the direction.
VOID = {"BUFFER", "C_BUFFER", "C_BUFFER2", "C_BUFFER3", "ATTRIBUTE_VAL", "ATTRIBUTE_VAL_10", "EXTRA_STATE",
        "EXTRA_STATE2", "TOOL_MPI_OBJ", "LOGICAL_VOID"}
# POLY kinds that are MPI_Aint, not int, in the plain form.
POLY_AINT = {"POLYDISPLACEMENT_AINT_COUNT", "POLYDTYPE_STRIDE_BYTES", "POLYDISPOFFSET", "POLYDTYPE_PACK_SIZE",
             "POLYLOCATION"}
# POLY kinds that are MPI_Aint, not MPI_Count, in the _c form.
POLY_AINT_C = {"POLYDISPLACEMENT"}
CALLBACK_KINDS = {"EVENT_CB_FUNCTION", "EVENT_DROP_CB_FUNCTION", "EVENT_FREE_CB_FUNCTION"}
RETURNS = {"ERROR_CODE": "int", "ERROR_CLASS": "int", "KEY_INDEX": "int", "DISPLACEMENT": "MPI_Aint",
           "LOCATION_SMALL": "MPI_Aint", "TICK_RESOLUTION": "double", "WALL_TIME": "double"}


@dataclass
class Param:
    direction: str
    name: str
    kind: str
    const: bool = False
    root: bool = False
    large: bool = False
    pointer: bool | None = None
    length: str | None = None
    fn: str | None = None

    @property
    def poly(self):
        return self.kind.startswith("POLY")

    @property
    def out(self):
        return self.direction != "in"

    @property
    def array(self):
        return self.length is not None and not self.string

    @property
    def string(self):
        return self.kind == "STRING"

    @property
    def handle(self):
        return self.kind in HANDLES

    def base(self, big):
        if self.handle:
            return HANDLES[self.kind]
        if self.poly:
            if self.kind == "POLYFUNCTION":
                return self.fn + ("_c" if big else "")
            if big:
                return "MPI_Aint" if self.kind in POLY_AINT_C else "MPI_Count"
            return "MPI_Aint" if self.kind in POLY_AINT else "int"
        if self.kind == "FUNCTION":
            return self.fn
        return OTHER.get(self.kind, "int")

    def by_pointer(self):
        """A single value that C passes by address."""
        if self.pointer is not None and not self.array:
            return self.pointer
        return self.out or self.kind == "STATUS"

    def declare(self, big, name=None):
        name = self.name if name is None else name
        const = "const " if self.const else ""
        if self.kind in VOID:
            return f"{const}void* {name}"
        if self.kind in ("FUNCTION", "POLYFUNCTION") or self.kind in CALLBACK_KINDS:
            return f"{self.base(big)}* {name}"
        if self.string:
            return f"{const}char* {name}"
        if self.kind == "STRING_ARRAY":
            return f"char* {name}[]"
        if self.kind == "STRING_2DARRAY":
            return f"char** {name}[]"
        if self.kind == "ARGUMENT_LIST":
            return f"char* {name}[]" if self.pointer is False else f"char*** {name}"
        if self.kind == "WEIGHT":  # MPI_UNWEIGHTED is no address: compilers must not take it for an array
            return f"{const}int* {name}"
        if self.array:
            if "," in self.length:
                return f"{const}{self.base(big)} {name}[][{self.length.split(',')[1]}]"
            return f"{const}{self.base(big)} {name}[]"
        if self.by_pointer():
            return f"{const}{self.base(big)}* {name}"
        return f"{self.base(big)} {name}"


@dataclass
class Function:
    name: str
    status: str
    when: str
    returns: str
    params: list = field(default_factory=list)
    family: str | None = None  # the blocking call of a collective with three forms
    form: str = "wait"         # of How::Form

    @property
    def poly(self):
        return any(p.poly for p in self.params)

    def shown(self, big):
        return [p for p in self.params if big or not p.large]

    def c_name(self, big):
        return self.name + ("_c" if big else "")

    def forms(self):
        return (False, True) if self.poly else (False,)

    def c_return(self):
        if self.returns in HANDLES:
            return HANDLES[self.returns]
        return RETURNS[self.returns]

    def signature(self, big, prefix=""):
        if self.name == "MPI_Pcontrol":
            args = "const int level, ..."
        else:
            args = ", ".join(p.declare(big) for p in self.shown(big)) or "void"
        return f"{self.c_return()} {prefix}{self.c_name(big)}({args})"


def read_param(text):
    words = text.split()
    p = Param(words[0], words[1], words[2])
    for flag in words[3:]:
        if flag == "const":
            p.const = True
        elif flag == "root":
            p.root = True
        elif flag == "large":
            p.large = True
        elif flag in ("ptr", "val"):
            p.pointer = flag == "ptr"
        elif flag.startswith("len="):
            p.length = flag[4:]
        elif flag.startswith("fn="):
            p.fn = flag[3:]
        else:
            raise ValueError(f"unknown flag {flag} in {text!r}")
    return p


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and not line.startswith("#"):
                yield line


def all_forms(function):
    """A collective and its nonblocking and persistent forms."""
    function.family = function.name
    more = [read_param("in info INFO"), read_param("out request REQUEST")]
    for name, form, extra in ((f"MPI_I{function.name[4:].lower()}", "start", more[1:]),
                              (f"{function.name}_init", "keep", more)):
        yield replace(function, name=name, params=function.params + extra, form=form)
    yield function


def read_functions(path):
    result = []
    for line in lines(path):
        head, _, tail = line.partition(" :")
        name, status, when, returns = head.split()
        params = [read_param(t) for t in tail.split(";") if t.strip()]
        function = Function(name, status.rstrip("+"), when, returns, params)
        result += all_forms(function) if status.endswith("+") else [function]
    return sorted(result, key=lambda f: f.name)


@dataclass
class Constant:
    name: str
    category: str
    value: int
    c_type: str


def read_constants(path):
    result = []
    for line in lines(path):
        head, _, c_type = line.partition(" : ")
        name, category, value = head.split()
        result.append(Constant(name, category, int(value), c_type))
    return result
