# The cuda backend, where a CUDA compiler is found.  Included by kernels/CMakeLists.txt, which has
# set pk_cuda_absent to the reason why it is not, for the table of backends and the summary.
