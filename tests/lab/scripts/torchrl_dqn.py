"""TorchRL's DQN: a collector, a TensorDictReplayBuffer, a loss module and a target updater."""

import sys
import warnings

warnings.simplefilter("ignore")  # TorchRL's own, of versions to come

import gymnasium as gym  # noqa: E402
import torch  # noqa: E402
from tensordict.nn import TensorDictSequential  # noqa: E402
from torchrl.collectors import Collector  # noqa: E402
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer  # noqa: E402
from torchrl.envs import GymWrapper, StepCounter, TransformedEnv  # noqa: E402
from torchrl.modules import MLP, EGreedyModule, QValueActor  # noqa: E402
from torchrl.objectives import DQNLoss, SoftUpdate  # noqa: E402
from truth import Truth, busy, now  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(0)
truth, counted = Truth(), {"env_steps": 0, "episodes": 0}
FRAMES = 16


class Slow(gym.Wrapper):
    def step(self, action):
        busy(300e-6)
        return self.env.step(action)


class Timed(TransformedEnv):
    def step_and_maybe_reset(self, tensordict):
        truth.step()
        began = now()
        result = super().step_and_maybe_reset(tensordict)
        truth.add("step", now() - began)
        counted["env_steps"] += 1
        counted["episodes"] += int(result[0]["next", "done"].sum())
        return result


class Policy(TensorDictSequential):
    def forward(self, *args, **kwargs):
        began = now()
        busy(100e-6)
        result = super().forward(*args, **kwargs)
        truth.add("act", now() - began)
        return result


def timed(phase, function, *args, seconds=0.0):
    began = now()
    busy(seconds)
    result = function(*args)
    truth.add(phase, now() - began)
    return result


env = Timed(GymWrapper(Slow(gym.make("CartPole-v1"))), StepCounter())
env.set_seed(0)
network = QValueActor(MLP(in_features=4, out_features=2, num_cells=[64, 64]), spec=env.action_spec, in_keys=["observation"])
explore = EGreedyModule(spec=env.action_spec, eps_init=0.2, eps_end=0.2, annealing_num_steps=1000)
collector = Collector(env, Policy(network, explore), frames_per_batch=FRAMES, total_frames=int(sys.argv[1]), trust_policy=True)
buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(10_000), batch_size=64)
loss_module = DQNLoss(network, action_space=env.action_spec, delay_value=True)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=1e-3)
updater = SoftUpdate(loss_module, eps=0.995)
updates = 0


def learn(batch):
    loss = loss_module(batch)["loss"]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for data in collector:
    timed("store", buffer.extend, data.reshape(-1))
    if len(buffer) < 200:
        continue
    for _ in range(4):
        batch = timed("sample", buffer.sample)
        timed("learn", learn, batch, seconds=300e-6)
        timed("sync", updater.step, seconds=100e-6)
        updates += 1
collector.shutdown()
weights = float(sum(p.detach().double().sum() for p in network.parameters()))
truth.kept.pop("store")  # what the collector does besides is timed by nobody
truth.tell(updates=updates, trajectory=[weights], **counted)
