"""REF: a small accelerator in software, the worked example of a backend with queues.

| file | what it shows |
|---|---|
| `plugin` | what is registered, and the hooks |
| `kernels` | kernels for the interpreter, and native ones |
| `packets` | the format of packets and of kernel images |
| `encoder` | how a backend turns operations into words, and pushes them |
| `device`, `memory` | the device and its allocator |
| `uapi` | the requests that its kernel driver takes |
| `interface` | the way to that driver, through the port to the operating system |
| `emulated` | the machine that is behind the port |
| `driver` | the kernel driver: memory, rights, queues, interrupts, faults |
| `executor` | the hardware: what executes the packets |
| `faults`, `faults_*` | the mistakes that encoder, driver and hardware can be told to make |

Down to `interface` it is what a backend for hardware is made of. `emulated`, `driver` and
`executor` stand in for what such a backend finds outside of its package.
"""
