"""ConvKGYarn: conversations about the facts of a KB, in many configurations (Pradeep et al. 2024).

Stages 1 to 6 make them; further modules run systems on them and score the answers.
"""
