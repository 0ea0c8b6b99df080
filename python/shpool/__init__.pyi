from types import ModuleType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

__version__: str
executor: ModuleType
numba: ModuleType
cupy: ModuleType
torch: ModuleType

class Error(RuntimeError):
    status: int
    name: str

class PoolStruct: ...

class Pool:
    struct: PoolStruct
    name: str
    pools: int
    pool_bytes: int
    shared_bytes: int
    largest: int
    block_threads: int
    threads_per_pool: int
    @property
    def spills(self) -> bool: ...
    @property
    def counted(self) -> bool: ...
    def blocks_per_sm(self, arch: str, other_shared: int = ...) -> int: ...
    def report(self) -> Report: ...
    def close(self) -> None: ...
    def __enter__(self) -> Pool: ...
    def __exit__(self, *_: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __getattr__(self, name: str) -> Any: ...

class Report:
    why: str
    bad_free: List[Any]
    leak: List[Any]
    mallocs: int
    frees: int
    failures: int
    live: int
    peak_bytes: int
    bad_frees: int
    leaks: int
    status: int
    def advise(self, arch: str, other_shared: int = ...) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

def version() -> str: ...
def allocators() -> Dict[str, str]: ...
def include() -> str: ...
def libraries() -> Optional[str]: ...
def load(path: Optional[str] = ...) -> Any: ...
def find_arch(name: str) -> Any: ...
def plan(
    spec: Optional[str] = ...,
    *,
    block_threads: int,
    payload_bytes: int = ...,
    total_bytes: int = ...,
    request_bytes: int = ...,
    threads_per_pool: int = ...,
    alignment: int = ...,
    shared_limit: int = ...,
    spill: str = ...,
    spill_bytes: int = ...,
    spill_blocks: int = ...,
    stats: bool = ...,
    check: bool = ...,
    arch: Optional[str] = ...,
    requests: Optional[Sequence[Union[Tuple[int, int], Tuple[int, int, int]]]] = ...,
) -> Pool: ...
def open(
    spec: Optional[str] = ...,
    *,
    block_threads: int,
    payload_bytes: int = ...,
    total_bytes: int = ...,
    request_bytes: int = ...,
    threads_per_pool: int = ...,
    alignment: int = ...,
    shared_limit: int = ...,
    spill: str = ...,
    spill_bytes: int = ...,
    spill_blocks: int = ...,
    stats: bool = ...,
    check: bool = ...,
) -> Pool: ...
def report(pool: Pool) -> Report: ...
def link(kernel: bytes, spec: str, arch: str) -> bytes: ...
