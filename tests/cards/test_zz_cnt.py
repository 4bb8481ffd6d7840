from collections import Counter
import time
from tests.cards.test_lives import *
def test_c(scene):
    for n in [(8,25),(20,30),(40,30)]:
        c=Counter()
        class L(CardLife):
            def _do(self,action,expected,**m):
                c[action,self.status,expected]+=1
                return super()._do(action,expected,**m)
        t=time.time(); play(scene,L,*n,derandomize=True)
        print(n, round(time.time()-t,1), "steps", sum(v for k,v in c.items() if k[0]=="getCardDetails"), "distinct", len(c))
    assert 0
