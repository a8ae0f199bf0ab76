"""The names of mpi4py's communicators and requests: of those that threads lack, errors say that ranks have them.

They stand here since mpi4py's module can't be asked: who imports it starts MPI.
"""

_OF_COMMUNICATORS = """
Abort Accept Ack_failed Agree Allgather Allgather_init Allgatherv Allgatherv_init Allreduce Allreduce_init Alltoall
Alltoall_init Alltoallv Alltoallv_init Alltoallw Alltoallw_init Attach_buffer Barrier Barrier_init Bcast Bcast_init
Bsend Bsend_init Call_errhandler Cart_map Clone Compare Connect Create Create_cart Create_dist_graph
Create_dist_graph_adjacent Create_errhandler Create_from_group Create_graph Create_group Create_intercomm Create_keyval
Delete_attr Detach_buffer Disconnect Dup Dup_with_info Exscan Exscan_init Flush_buffer Free Free_keyval Gather
Gather_init Gatherv Gatherv_init Get_attr Get_cart_rank Get_coords Get_dim Get_errhandler Get_failed Get_group Get_info
Get_name Get_parent Get_rank Get_size Get_topo Get_topology Graph_map Iagree Iallgather Iallgatherv Iallreduce Ialltoall
Ialltoallv Ialltoallw Ibarrier Ibcast Ibsend Idup Idup_with_info Iexscan Iflush_buffer Igather Igatherv Improbe
Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw Iprobe Irecv Ireduce
Ireduce_scatter Ireduce_scatter_block Irsend Is_inter Is_intra Is_revoked Iscan Iscatter Iscatterv Isend Isendrecv
Isendrecv_replace Ishrink Issend Join Mprobe Neighbor_allgather Neighbor_allgather_init Neighbor_allgatherv
Neighbor_allgatherv_init Neighbor_alltoall Neighbor_alltoall_init Neighbor_alltoallv Neighbor_alltoallv_init
Neighbor_alltoallw Neighbor_alltoallw_init Precv_init Probe Psend_init Recv Recv_init Reduce Reduce_init Reduce_scatter
Reduce_scatter_block Reduce_scatter_block_init Reduce_scatter_init Revoke Rsend Rsend_init Scan Scan_init Scatter
Scatter_init Scatterv Scatterv_init Send Send_init Sendrecv Sendrecv_replace Set_attr Set_errhandler Set_info Set_name
Shift Shrink Spawn Spawn_multiple Split Split_type Ssend Ssend_init Sub allgather allreduce alltoall barrier bcast bsend
coords degrees dim dims exscan f2py free fromhandle fromint gather group handle ibsend improbe indegree inedges info
inoutedges iprobe irecv is_inter is_intra is_topo isend issend mprobe name ndim neighbor_allgather neighbor_alltoall
outdegree outedges periods probe py2f rank recv reduce scan scatter send sendrecv size ssend toint topo topology
"""
_OF_REQUESTS = """
Cancel Free Get_status Get_status_all Get_status_any Get_status_some Test Testall Testany Testsome Wait Waitall Waitany
Waitsome cancel f2py free fromhandle fromint get_status get_status_all get_status_any get_status_some handle py2f test
testall testany testsome toint wait waitall waitany waitsome
"""
MPI4PY_NAMES = {"communicator": frozenset(_OF_COMMUNICATORS.split()), "request": frozenset(_OF_REQUESTS.split())}
