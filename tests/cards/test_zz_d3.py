from collections import Counter
from tests.cards import test_money_lives as L
C=Counter()
o=L.MoneyLife.do
def do(self, action, expected, **m):
    C[action, expected]+=1
    return o(self, action, expected, **m)
L.MoneyLife.do=do
oc=L.MoneyLife.collect
def collect(self,p):
    oc(self,p); C["collect",p.state]+=1
L.MoneyLife.collect=collect
scene=L.scene
def test_it(scene):
    L.test_money_moves_as_decided(scene)
    for k,v in sorted(C.items(), key=str): print(k,v)
    assert 0
