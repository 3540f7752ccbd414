/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI library, without its header. */
#ifndef LSC_MPI_INFO_H
#define LSC_MPI_INFO_H

/* The first line of what MPI says of its version; also before MPI_Init and after MPI_Finalize. Static. */
const char *lsc_mpi_library(void);

#endif
