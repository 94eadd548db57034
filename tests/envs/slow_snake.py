"""Snake again, slowly and obviously: lists, tuples and searches, written from the rules and not from envs/snake.py. It shares only the stream of luck."""

from collections import deque

from hotloop.engine.random import PlainStream, streams

UP, RIGHT, DOWN, LEFT = (-1, 0), (0, 1), (1, 0), (0, -1)
COMPASS = [UP, RIGHT, DOWN, LEFT]


class SlowSnake:
    def __init__(self, rows, columns, actions, seed=0, game=0):
        self.rows, self.columns, self.actions = rows, columns, actions
        self.luck = PlainStream(streams(seed, game + 1)[game])
        self.begin()

    def begin(self):
        row, column = self.rows // 2, max(self.columns // 2, 2)
        self.body = deque([(row, column), (row, column - 1), (row, column - 2)])  # head first
        self.heading = RIGHT
        self.age = 0
        self.drop_food()

    def drop_food(self):
        free = [cell for cell in self.all_cells() if cell not in self.body]
        self.food = free[(self.luck.next_bits() >> 32) * len(free) >> 32]

    def step(self, action):
        """What happened: 'on', 'ate', or how the game ended; and whether the head came closer to the food."""
        self.age += 1
        self.turn(action)
        no_way_out = all(self.deadly(self.next_cell(way)) for way in COMPASS)
        cell = self.next_cell(self.heading)
        if self.deadly(cell):
            return ("trapped" if no_way_out else "self" if self.inside(cell) else "wall"), None
        closer = far(cell, self.food) < far(self.body[0], self.food)
        if cell != self.food:
            self.body.pop()
            self.body.appendleft(cell)
            return "on", closer
        self.body.appendleft(cell)
        if len(self.body) == self.rows * self.columns:
            return "full", None
        self.drop_food()
        return "ate", None

    def turn(self, action):
        if self.actions == "relative":
            self.heading = [left_of, same, right_of][action](self.heading)
        elif COMPASS[action] != back_of(self.heading):
            self.heading = COMPASS[action]

    def all_cells(self):
        return [(row, column) for row in range(self.rows) for column in range(self.columns)]

    def inside(self, cell):
        return 0 <= cell[0] < self.rows and 0 <= cell[1] < self.columns

    def deadly(self, cell):
        """The tail's cell is not: the tail leaves it in the same moment."""
        return not self.inside(cell) or (cell in self.body and cell != self.body[-1])

    def next_cell(self, way, start=None):
        row, column = start or self.body[0]
        return row + way[0], column + way[1]

    # ------------------------------------------------------------ what is seen

    def reachable(self, start):
        """Every cell that can be walked to without dying; none where the first step kills."""
        reached = set()
        waiting = deque([start])
        while waiting:
            cell = waiting.popleft()
            if cell not in reached and not self.deadly(cell):
                reached.add(cell)
                waiting.extend(self.next_cell(way, cell) for way in COMPASS)
        return reached

    def see(self, features, vision=2):
        return getattr(self, features)(vision) if features == "window" else getattr(self, features)()

    def turns(self):
        """Straight, left, right."""
        return [self.heading, left_of(self.heading), right_of(self.heading)]

    def basic(self):
        danger = [float(self.deadly(self.next_cell(way))) for way in [*self.turns(), back_of(self.heading)]]
        return danger + self.where(self.food) + [float(self.heading == way) for way in (RIGHT, DOWN, LEFT)]

    def flood(self):
        open_cells = [cell for cell in self.all_cells() if not self.deadly(cell)]
        share = [len(self.reachable(self.next_cell(way))) / len(open_cells) for way in self.turns()]
        return self.basic() + share

    def selective(self):
        tail = self.body[-1]
        in_reach = any(tail in self.reachable(self.next_cell(way)) for way in self.turns())
        return self.flood() + self.where(tail) + [float(in_reach)]

    def enhanced(self):
        routes = []
        for way in self.turns():
            cell = self.next_cell(way)
            routes.append(0.0 if self.deadly(cell) else sum(not self.deadly(self.next_cell(on, cell)) for on in COMPASS) / 3)
        distance = far(self.body[0], self.food) / (self.rows + self.columns - 2)
        return self.selective() + routes + [distance, self.share_of_board()]

    def laptop(self):
        sights = [self.sight(way) for way in COMPASS]
        danger = [float(sight == 0) for sight in sights]
        heading = [float(self.heading == way) for way in COMPASS]
        lengths = [self.rows, self.columns, self.rows, self.columns]
        return danger + self.where(self.food) + heading + self.offset() + [s / n for s, n in zip(sights, lengths)] + [self.share_of_board()]

    def compact(self):
        ways = [self.heading, right_of(self.heading), back_of(self.heading), left_of(self.heading)]
        danger = [float(not self.inside(cell) or cell in self.body) for cell in map(self.next_cell, ways)]
        heading = [float(self.heading == way) for way in COMPASS]
        return danger + heading + self.where(self.food) + self.offset() + [self.share_of_board(), 0.0]

    def planes(self):
        planes = [[[0] * self.columns for _ in range(self.rows)] for _ in range(3)]
        for plane, cells in zip(planes, (list(self.body)[1:], [self.body[0]], [self.food])):
            for row, column in cells:
                plane[row][column] = 1
        return planes

    def board(self):
        return [self.mark(cell) for cell in self.all_cells()]

    def window(self, vision):
        ahead, beside = (self.heading, right_of(self.heading)) if self.actions == "relative" else (UP, RIGHT)
        row, column = self.body[0]
        marks = []
        for forward in range(vision, -vision - 1, -1):
            for sideways in range(-vision, vision + 1):
                cell = (row + forward * ahead[0] + sideways * beside[0], column + forward * ahead[1] + sideways * beside[1])
                marks.append(self.mark(cell) if self.inside(cell) else 1)
        return marks

    def mark(self, cell):
        if cell == self.body[0]:
            return 2
        return 1 if cell in self.body else 3 if cell == self.food else 0

    def where(self, goal):
        (row, column), (goal_row, goal_column) = self.body[0], goal
        return [float(goal_row < row), float(goal_row > row), float(goal_column < column), float(goal_column > column)]

    def offset(self):
        (row, column), (food_row, food_column) = self.body[0], self.food
        return [(food_row - row) / self.rows, (food_column - column) / self.columns]

    def sight(self, way):
        cell, distance = self.next_cell(way), 0
        while not self.deadly(cell):
            cell, distance = self.next_cell(way, cell), distance + 1
        return distance

    def share_of_board(self):
        return len(self.body) / (self.rows * self.columns)


def far(cell, other):
    return abs(cell[0] - other[0]) + abs(cell[1] - other[1])


def same(way):
    return way


def right_of(way):
    return COMPASS[(COMPASS.index(way) + 1) % 4]


def back_of(way):
    return -way[0], -way[1]


def left_of(way):
    return back_of(right_of(way))
