"""REF: a small accelerator in software, the worked example of a backend with queues.

| file | what it shows |
|---|---|
| `plugin` | what is registered, and the hooks |
| `kernels` | kernels for the interpreter, and native ones |
| `packets` | the format of packets and of kernel images |
| `encoder` | how a backend turns operations into words, and pushes them |
| `device` | the device and its memory |
| `executor` | the hardware: what executes the packets |
| `faults`, `faults_*` | the mistakes that encoder, driver and hardware can be told to make |
"""
