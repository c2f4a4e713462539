"""Networks on graphs: layers, pooling and functions of torch_geometric."""

import torch
from torch_geometric import nn, utils


def _graph():
    x = torch.randn(10, 8, device="cuda")
    edges = torch.randint(0, 10, (2, 30), device="cuda")
    return x, edges


def _batch():
    return torch.randn(10, 8, device="cuda"), torch.arange(10, device="cuda") // 5


def convolution():
    return nn.GCNConv(8, 4).cuda().eval(), _graph()


def convolution_without_loops():
    return nn.GCNConv(8, 4, add_self_loops=False).cuda().eval(), _graph()


def attention():
    return nn.GATConv(8, 4, heads=2).cuda().eval(), _graph()


def attention_v2_without_loops():
    return nn.GATv2Conv(8, 4, heads=2, add_self_loops=False).cuda().eval(), _graph()


def sampled_neighbours():
    return nn.SAGEConv(8, 4).cuda().eval(), _graph()


def isomorphism():
    return nn.GINConv(torch.nn.Linear(8, 4)).cuda().eval(), _graph()


def chebyshev():
    return nn.ChebConv(8, 4, K=3).cuda().eval(), _graph()


def transformer():
    return nn.TransformerConv(8, 4, heads=2).cuda().eval(), _graph()


def principal_neighbours():
    degrees = torch.bincount(torch.randint(0, 4, (10,)))
    layer = nn.PNAConv(8, 4, ["mean", "max", "std"], ["identity", "amplification"], degrees)
    return layer.cuda().eval(), _graph()


def gated():
    return nn.GatedGraphConv(8, num_layers=2).cuda().eval(), _graph()


def two_layers():
    model = nn.GraphSAGE(8, 16, num_layers=2, out_channels=4).cuda().eval()
    return model, _graph()


def jumping():
    model = nn.GCN(8, 16, num_layers=2, out_channels=4, jk="cat").cuda().train()

    def step(x, edges):
        model.zero_grad()
        out = model(x, edges).square().mean()
        out.backward()
        return out

    return step, _graph()


def top_pooling():
    pool = nn.TopKPooling(8, ratio=0.5).cuda().eval()
    return pool, _graph()


def pooled_mean():
    return nn.global_mean_pool, _batch()


def pooled_mean_of_known_size():
    x, batch = _batch()
    return nn.global_mean_pool, (x, batch), {"size": 2}


def pooled_attention():
    pool = nn.AttentionalAggregation(torch.nn.Linear(8, 1)).cuda()
    return pool, _batch()


def pooled_set():
    pool = nn.Set2Set(8, processing_steps=2).cuda()
    return pool, _batch()


def normalized_graphs():
    return nn.GraphNorm(8).cuda(), _batch()


def normalized_layers():
    return nn.LayerNorm(8).cuda(), _batch()


def dense_batch():
    return utils.to_dense_batch, _batch()


def dense_batch_of_known_size():
    def step(x, batch):
        return utils.to_dense_batch(x, batch, batch_size=2, max_num_nodes=5)

    return step, _batch()


def dense_adjacency():
    _, edges = _graph()
    return utils.to_dense_adj, (edges,)


def with_loops():
    _, edges = _graph()

    def step(edges):
        return utils.add_self_loops(edges, num_nodes=10)[0]

    return step, (edges,)


def without_loops():
    _, edges = _graph()

    def step(edges):
        return utils.remove_self_loops(edges)[0]

    return step, (edges,)


def coalesced():
    _, edges = _graph()
    return utils.coalesce, (edges,)


def softmax_of_groups():
    x, batch = _batch()

    def step(x, batch):
        return utils.softmax(x, batch, num_nodes=2)

    return step, (x, batch)


def degrees():
    _, edges = _graph()

    def step(edges):
        return utils.degree(edges[0])

    return step, (edges,)


def scattered():
    x, batch = _batch()

    def step(x, batch):
        return utils.scatter(x, batch, dim=0, dim_size=2, reduce="mean")

    return step, (x, batch)


def dropped_edges():
    _, edges = _graph()

    def step(edges):
        return utils.dropout_edge(edges, p=0.5)[0]

    return step, (edges,)


def laplacian():
    _, edges = _graph()

    def step(edges):
        return utils.get_laplacian(edges, normalization="sym", num_nodes=10)

    return step, (edges,)
